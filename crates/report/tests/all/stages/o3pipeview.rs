//! The trace is read back as gem5's viewer reads it: seven lines for each instruction, fields between colons.

use tollgate_record::stages::StageRow;

/// Ticks of a cycle.
const TICKS: u64 = 1000;

fn write(rows: &[StageRow]) -> String {
    super::exported(rows, "o3pipeview").expect("a trace")
}

const STAGES: [&str; 7] = ["fetch", "decode", "rename", "dispatch", "issue", "complete", "retire"];

/// (address, number, assembly, ticks of the seven stages, tick of the store)
type Seen = (String, u64, String, [u64; 7], u64);

fn parse(trace: &str) -> Vec<Seen> {
    let lines: Vec<Vec<&str>> = trace.lines().map(|line| line.split(':').collect()).collect();
    lines
        .chunks(STAGES.len())
        .map(|lines| {
            let mut ticks = [0; 7];
            for ((line, stage), tick) in lines.iter().zip(STAGES).zip(&mut ticks) {
                assert_eq!(line[0], "O3PipeView");
                assert_eq!(line[1], stage);
                *tick = line[2].parse().expect("a tick");
                assert_eq!(
                    line.len(),
                    match stage {
                        "fetch" => 7,
                        "retire" => 5,
                        _ => 3,
                    },
                    "{line:?}"
                );
            }
            let [fetch, .., retire] = lines else { panic!("an instruction of one line") };
            assert!(fetch[3].starts_with("0x"));
            assert_eq!(retire[3], "store");
            let store = retire[4].parse().expect("a tick");
            (fetch[3].into(), fetch[5].parse().expect("a number"), fetch[6].into(), ticks, store)
        })
        .collect()
}

#[test]
fn the_trace_says_what_was_drawn() {
    let seen = parse(&write(&super::load_use()));
    // Drawn by hand: cycle 10 is tick 1,000; ID and EX stand for two stages each.
    assert_eq!(seen[0].3, [1000, 2000, 2000, 3000, 3000, 4000, 5000]);
    assert_eq!(seen[1].3, [2000, 3000, 3000, 5000, 5000, 6000, 7000]);
    assert_eq!(seen[2].3, [3000, 5000, 5000, 6000, 6000, 7000, 8000]);
    assert_eq!(seen.iter().map(|s| s.4).collect::<Vec<_>>(), [0, 0, 7 * TICKS]);
    assert_eq!(seen[1].0, "0x80000004");
    assert_eq!(seen[1].2, "addi a0, a0, 1");
}

#[test]
fn what_was_thrown_away_never_retires() {
    let seen = parse(&write(&super::trap()));
    assert_eq!(seen[1].3, [2000, 3000, 3000, 4000, 4000, 0, 0]);
    assert_eq!(seen[3].3, [4000, 0, 0, 0, 0, 0, 0]);
    assert!(seen[0].3[6] > 0 && seen[4].3[6] > 0);
}

#[test]
fn a_colon_is_no_field() {
    let mut rows = super::load_use();
    rows[0].text = "a:b".into();
    assert_eq!(parse(&write(&rows))[0].2, "a b");
    assert!(super::exported(&[], "o3pipeview").is_err());
}
