//! A snapshot's reader with files that no machine has written.

use super::*;
use crate::devices::virtio::Slot;
use crate::devices::virtio::block::Block;

fn machine(harts: usize) -> Machine {
    let config = Config { machine: MachineKind::Virt, ram_bytes: 1 << 20, harts, ..Config::default() };
    Machine::new(config).unwrap()
}

/// A file with this head and state, and one page of RAM.
fn file(head: &[u8], state: &[u8], pages: &[u64]) -> Vec<u8> {
    let mut body = FrameEncoder::new(Vec::new());
    for part in [head, state] {
        body.write_all(&(part.len() as u64).to_le_bytes()).unwrap();
        body.write_all(part).unwrap();
    }
    for n in pages {
        body.write_all(&n.to_le_bytes()).unwrap();
        body.write_all(&[1; PAGE]).unwrap();
    }
    body.write_all(&NO_PAGE.to_le_bytes()).unwrap();
    let body = body.finish().unwrap();
    [header(&body), body].concat()
}

fn parts(machine: &mut Machine) -> (Vec<u8>, Vec<u8>) {
    let drive = machine.drive().map(identify).transpose().unwrap();
    (postcard::to_stdvec(&(&machine.config, drive)).unwrap(), write_state(machine, Vec::new()).unwrap())
}

#[test]
fn pages_have_their_place_and_their_order() {
    let (head, state) = parts(&mut machine(1));
    let restored = Machine::restore(&file(&head, &state, &[0, 255]), None).unwrap();
    assert_eq!(restored.read_memory(0x8000_0000, 1).unwrap(), [1]);
    assert_eq!(restored.read_memory(0x800f_f000, 1).unwrap(), [1]);
    for pages in [&[256][..], &[3, 3], &[4, 2], &[u64::MAX - 1]] {
        let error = Machine::restore(&file(&head, &state, pages), None).map(drop).unwrap_err();
        assert!(matches!(error, SnapshotError::Damaged(_)), "{pages:?}: {error}");
    }
}

/// Any state with a right hash is refused, or gives a machine that runs without a panic.
#[test]
fn a_forged_state_is_refused_or_runs() {
    let mut random = crate::devices::virtio::entropy::Entropy(3);
    let (mut refused, mut ran) = (0, 0);
    for harts in [1, 2] {
        let mut genuine = machine(harts);
        let drive: Box<dyn Storage> = Box::new(vec![0; 4096]);
        if let Some(virt) = &mut genuine.bus.virt {
            virt.slots[DRIVE_SLOT] = Slot::new(Some(Device::Block(Block::new(drive))));
        }
        // An endless loop, so that it runs on.
        genuine.write_memory(0x8000_0000, &[0x6f, 0, 0, 0]).unwrap();
        let (head, state) = parts(&mut genuine);
        for _ in 0..400 {
            let (mut head, mut state) = (head.clone(), state.clone());
            let n = random.next() as usize;
            if n.is_multiple_of(8) {
                let at = n / 8 % head.len();
                head[at] = random.next() as u8;
            } else {
                let at = n / 8 % state.len();
                state[at] = random.next() as u8;
            }
            match Machine::restore(&file(&head, &state, &[0]), Some(Box::new(vec![0; 4096]))) {
                Ok(mut machine) => {
                    machine.run(50_000, &mut ());
                    ran += 1;
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 50 && ran > 50, "{refused} {ran}");
}

/// If this fails, the saved state has changed: raise [`VERSION`], and put the new number here.
#[test]
fn another_form_has_another_number() {
    let (head, state) = parts(&mut machine(2));
    assert_eq!((VERSION, head.len(), state.len()), (3, 46, 3809));
}
