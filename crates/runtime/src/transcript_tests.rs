use super::*;

const ASKED: Asked = Asked { tasks: 2, batches: 2, batch: 100, singles: 2, tolerance: 0.0 };

const GOOD: &str = "tollgate-runtime 1
version Thing 1.0, cc 14
clock 1 a clock
rss 1000 3000
warm 640 steady
sample 100 561.5
sample 100 560
pair 21
single 1 88
count switches 200
count resumes 200
count dispatcher 200
note stacks of 64 KiB
end
";

fn why(text: &str, asked: &Asked) -> String {
    read(text.as_bytes(), asked).expect_err(text).to_string()
}

#[test]
fn a_valid_transcript_is_accepted() {
    let said = read(GOOD.as_bytes(), &ASKED).unwrap();
    assert_eq!(said.version, "Thing 1.0, cc 14");
    assert_eq!(said.clock, (1.0, "a clock".into()));
    assert_eq!(said.samples[0], Sample { switches: 100, ns: 561.5 });
    assert_eq!((said.switches, said.resumes, said.dispatcher, said.kernel), (200, 200, Some(200), None));
    assert_eq!(said.bytes_per_task(2), Some(1000.0));
    assert!(said.steady);
}

#[test]
fn each_of_several_transcripts_is_checked_against_its_own_request() {
    let other = GOOD.replace("sample 100", "sample 50").replace("switches 200", "switches 100");
    let other = other.replace("resumes 200", "resumes 100");
    let asked = [ASKED, Asked { batch: 50, ..ASKED }];
    let read = |text: String| read_each(text.as_bytes(), &asked);
    let switches = |said: &Transcript| said.switches;
    assert_eq!(read(format!("{GOOD}{other}")).unwrap().iter().map(switches).collect::<Vec<_>>(), [200, 100]);
    assert!(matches!(read(format!("{other}{GOOD}")), Err(Refused::Batch(1, 50, 100))));
    assert_eq!(read(GOOD.into()), Err(Refused::Silent));
    assert!(matches!(read(format!("{GOOD}{other}{other}")), Err(Refused::AfterEnd(..))));
}

#[test]
fn each_changed_line_is_noticed() {
    for (from, to, said) in [
        ("tollgate-runtime 1\n", "tollgate-runtime 2\n", "its first line is 'tollgate-runtime 2'"),
        ("tollgate-runtime 1\n", "Hello\ntollgate-runtime 1\n", "its first line is 'Hello'"),
        ("version Thing 1.0, cc 14\n", "", "'version' is missing"),
        ("clock 1 a clock\n", "", "'clock' is missing"),
        ("clock 1 a clock", "clock 1", "line 3 is not"),
        ("warm 640 steady\n", "", "'warm' is missing"),
        ("steady", "hot", "line 5 is not"),
        ("sample 100 560\n", "", "expected 2 batches, found 1"),
        ("sample 100 560\n", "sample 100 560\nsample 100 560\n", "expected 2 batches, found 3"),
        ("sample 100 560\n", "sample 99 560\n", "batch 2 has 99 switches instead of 100"),
        ("sample 100 560\n", "sample 100 0\n", "not part of the protocol: 'sample 100 0'"),
        ("sample 100 560\n", "sample 100 -560\n", "not part of the protocol"),
        ("sample 100 560\n", "sample 100 NaN\n", "not part of the protocol"),
        ("sample 100 560\n", "sample 100 inf\n", "not part of the protocol"),
        ("sample 100 560\n", "sample 100 1e3\n", "not part of the protocol"),
        ("sample 100 560\n", "sample 100  560\n", "not part of the protocol"),
        ("sample 100 560\n", "sample 100 99999999999999999999\n", "not part of the protocol"),
        ("sample 100 560\n", "sample 18446744073709551616 560\n", "not part of the protocol"),
        ("count switches 200", "count switches 199", "switches of all samples: 199 counted where 200"),
        ("count resumes 200", "count resumes 0", "resumptions of the tasks: 0 counted where 200"),
        ("count resumes 200\n", "", "'count resumes N' is missing"),
        ("count resumes 200\n", "count resumes 200\ncount resumes 200\n", "line 12 repeats"),
        ("count dispatcher 200", "count whatever 200", "line 12 is not"),
        ("pair 21\n", "", "'pair NS' is missing"),
        ("single 1 88\n", "single 1 88\nsingle 1 88\nsingle 1 88\n", "single events: 3 counted where 2"),
        ("note stacks", "remark stacks", "line 13 is not"),
        ("end\n", "", "stops after line 13, without 'end'"),
        ("end\n", "end", "without 'end'"),
        ("end\n", "end\nmore\n", "line 15 follows 'end': 'more'"),
        ("end\n", "\u{1b}[31mred\nend\n", "line 14 is not"),
    ] {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD, "{from:?}");
        let why = why(&text, &ASKED);
        assert!(why.contains(said), "{from:?} -> {to:?}: {why}");
        assert!(!why.contains('\u{1b}'));
    }
    assert_eq!(why("", &ASKED), Refused::Silent.to_string());
}

#[test]
fn a_tolerance_lets_the_scheduler_be_unfair_and_no_more() {
    let asked = Asked { tolerance: 0.05, ..ASKED };
    let text = GOOD
        .replacen("sample 100 560\n", "sample 104 560\n", 1)
        .replace("count switches 200", "count switches 204");
    let said = read(text.replace("count resumes 200", "count resumes 204").as_bytes(), &asked).unwrap();
    assert_eq!(said.switches, 204);
    assert!(why(&text.replace("sample 104", "sample 106"), &asked).contains("106 switches"));
    assert!(why(&text.replace("count resumes 200", "count resumes 150"), &asked).contains("150 counted"));
}

#[test]
fn a_program_may_say_why_not() {
    let skip = "tollgate-runtime 1\nskip needs a JDK of 21\nend\n";
    assert_eq!(read(skip.as_bytes(), &ASKED), Err(Refused::Skip("needs a JDK of 21".into())));
    assert!(why("tollgate-runtime 1\nfail no memory\nend\n", &ASKED).contains("it reported: no memory"));
    assert!(why("tollgate-runtime 1\nskip needs a JDK of 21\n", &ASKED).contains("without 'end'"));
}

#[test]
fn bytes_that_are_not_text_are_refused() {
    let garbage: Vec<u8> = (0..=255).cycle().take(4_096).collect();
    assert!(read(&garbage, &ASKED).is_err());
    assert!(read(b"\0\0\0\0", &ASKED).is_err());
}
