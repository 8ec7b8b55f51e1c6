//! HTIF, and system calls that are passed on to the host: answered from what the caller allows, refused otherwise.

use crate::common::Asm;
use tollgate_riscv::{Config, Elf, Errno, HostCalls, Machine, MemoryFiles, Op, Segment, Stop, Symbol, Xlen};

const BASE: u64 = 0x8000_0000;
const TOHOST: u64 = BASE + 0x1000;
const FROMHOST: u64 = TOHOST + 64;
const BLOCK: u64 = BASE + 0x2000;

fn machine(code: &Asm, data: &[(u64, &[u8])]) -> Machine {
    let mut m = Machine::new(Config { ram_bytes: 1 << 20, ..Config::default() }).unwrap();
    let symbol = |name: &str, address| Symbol { name: name.into(), address, size: 8 };
    let elf = Elf {
        entry: BASE,
        xlen: Xlen::Rv64,
        segments: vec![Segment {
            address: BASE,
            data: code.0.clone(),
            memory_size: 0x1_0000,
            executable: true,
        }],
        symbols: vec![symbol("tohost", TOHOST), symbol("fromhost", FROMHOST)],
    };
    m.load(&elf).unwrap();
    for (at, bytes) in data {
        m.write_memory(*at, bytes).unwrap();
    }
    m.set_x(8, TOHOST);
    m.set_x(9, BLOCK);
    m
}

/// Hands the block to the host, waits for the answer, and ends the run.
fn call() -> Asm {
    let mut a = Asm::default();
    a.op(Op::Sd, 0, 8, 9, 0).op(Op::Ld, 5, 8, 0, 64).op(Op::Beq, 0, 5, 0, -4);
    a.op(Op::Ld, 10, 9, 0, 0).op(Op::Addi, 6, 0, 0, 1).op(Op::Sd, 0, 8, 6, 0).op(Op::Jal, 0, 0, 0, 0);
    a
}

fn block(words: [u64; 5]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// The result of one call.
fn result(words: [u64; 5], text: &[u8], files: Option<MemoryFiles>) -> (i64, Machine) {
    let mut m = machine(&call(), &[(BLOCK, &block(words)), (BASE + 0x3000, text)]);
    if let Some(files) = files {
        m.set_host(Box::new(files));
    }
    assert_eq!(m.run(10_000, &mut ()), Stop::Exit { code: 0 });
    (m.x(10) as i64, m)
}

#[test]
fn standard_output_goes_to_the_console() {
    let (n, m) = result([64, 1, BASE + 0x3000, 5, 0], b"hello, world", None);
    assert_eq!((n, m.console()), (5, &b"hello"[..]));
    let (n, m) = result([64, 7, BASE + 0x3000, 5, 0], b"hello, world", None);
    assert_eq!((n, m.console()), (-9, &b""[..]), "no such file");
    let (n, _) = result([64, 1, BASE + 0x3000, 1 << 40, 0], b"", None);
    assert_eq!(n, -14, "not all in memory");
}

#[test]
fn only_allowed_files_can_be_opened() {
    let path = b"/etc/passwd\0";
    let open = [56, 0, BASE + 0x3000, path.len() as u64, 0];
    assert_eq!(result(open, path, None).0, -13);
    let mut files = MemoryFiles::new();
    files.insert("other", vec![]);
    assert_eq!(result(open, path, Some(files.clone())).0, -13);
    files.insert("/etc/passwd", b"ours".to_vec());
    assert_eq!(result(open, path, Some(files)).0, 3);
}

#[test]
fn unknown_calls_are_refused() {
    assert_eq!(result([9999, 0, 0, 0, 0], b"", None).0, -38);
}

#[test]
fn the_exit_code_is_the_guests() {
    for (value, code) in [(1, 0), (3, 1), (0xfff, 0x7ff)] {
        let mut a = Asm::default();
        a.op(Op::Addi, 6, 0, 0, value).op(Op::Sw, 0, 8, 6, 0).op(Op::Jal, 0, 0, 0, 0);
        if value > 2047 {
            continue;
        }
        // The high half of the word is never written: the machine waits a little, and takes it as zero.
        let mut m = machine(&a, &[]);
        assert_eq!(m.run(1000, &mut ()), Stop::Exit { code });
        assert!(m.instret() > 2);
        assert_eq!(m.run(1000, &mut ()), Stop::Exit { code }, "a stopped machine stays stopped");
    }
}

/// riscv-arch-test's own halt on RV32: half of the word is written for ever, and the other half never.
#[test]
fn a_half_that_is_written_again_and_again_ends_the_run() {
    let mut a = Asm::default();
    a.op(Op::Addi, 6, 0, 0, 1).op(Op::Sw, 0, 8, 6, 0).op(Op::Jal, 0, 0, 0, -4);
    for reference in [false, true] {
        let mut m = machine(&a, &[]);
        let stop = if reference { m.run_reference(1000, &mut ()) } else { m.run(1000, &mut ()) };
        assert_eq!(stop, Stop::Exit { code: 0 }, "reference: {reference}");
    }
}

/// Code would have to be decoded again after each character.
#[test]
fn a_character_on_the_console_keeps_the_decoded_code() {
    #[derive(Default)]
    struct Epochs(std::collections::BTreeSet<u64>);
    impl tollgate_riscv::Observer for Epochs {
        const BLOCKS: bool = true;
        fn several(&mut self, several: &tollgate_riscv::Several) {
            self.0.insert(several.epoch);
        }
    }
    let mut a = Asm::default();
    a.op(Op::Sd, 0, 8, 7, 0).op(Op::Addi, 5, 5, 0, 1).op(Op::Jal, 0, 0, 0, -8);
    let mut m = machine(&a, &[]);
    m.set_x(7, 1 << 56 | 1 << 48 | u64::from(b'x'));
    let mut epochs = Epochs::default();
    assert_eq!(m.run(10_000, &mut epochs), Stop::Budget);
    assert_eq!((m.console().len(), epochs.0.len()), (3334, 1));
}

#[test]
fn console_output_is_bounded() {
    let mut a = Asm::default();
    // Device 1, command 1: one character, for ever.
    a.op(Op::Sd, 0, 8, 7, 0).op(Op::Jal, 0, 0, 0, -4);
    let mut m = Machine::new(Config { ram_bytes: 1 << 20, console_bytes: 10, ..Config::default() }).unwrap();
    let symbol = |name: &str, address| Symbol { name: name.into(), address, size: 8 };
    m.load(&Elf {
        entry: BASE,
        xlen: Xlen::Rv64,
        segments: vec![Segment { address: BASE, data: a.0, memory_size: 0x1_0000, executable: true }],
        symbols: vec![symbol("fromhost", FROMHOST), symbol("tohost", TOHOST)],
    })
    .unwrap();
    m.set_x(8, TOHOST);
    m.set_x(7, 1 << 56 | 1 << 48 | u64::from(b'x'));
    assert_eq!(m.run(200, &mut ()), Stop::Budget);
    assert_eq!((m.console(), m.console_dropped()), (&b"xxxxxxxxxx"[..], 90));
}

#[test]
fn files_in_memory_behave_like_files() {
    let mut f = MemoryFiles::new();
    f.insert("a", b"0123456789".to_vec());
    let fd = f.open("a", 0, 0).unwrap();
    let mut b = [0; 4];
    assert_eq!((f.read(fd, None, &mut b), &b), (Ok(4), b"0123"));
    assert_eq!((f.read(fd, Some(8), &mut b), &b[..2]), (Ok(2), &b"89"[..]));
    assert_eq!((f.read(fd, None, &mut b), &b), (Ok(4), b"4567"), "reading elsewhere moves nothing");
    assert_eq!(f.seek(fd, -1, 2), Ok(9));
    assert_eq!(f.seek(fd, -1, 0), Err(Errno::EINVAL));
    assert_eq!(f.read(fd, Some(u64::MAX), &mut b), Ok(0));
    assert_eq!(f.stat(fd).map(|s| s.size), Ok(10));
    assert_eq!(f.open("a", 1, 0), Err(Errno::EACCES), "nothing can be written");
    assert_eq!(f.close(fd), Ok(()));
    assert_eq!(f.close(fd), Err(Errno::EBADF));
    while f.open("a", 0, 0).is_ok() {}
    assert_eq!(f.open("a", 0, 0), Err(Errno::EMFILE));
}
