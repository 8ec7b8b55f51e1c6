//! What a terminal shows while a command works.

use crate::scene::Scene;
use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::ptr;

/// Both ends of a terminal of 100 columns.
fn terminal() -> (File, File) {
    let size = libc::winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    let (mut ours, mut theirs) = (-1, -1);
    // SAFETY: the call fills two descriptors, and reads the size.
    let made = unsafe { libc::openpty(&mut ours, &mut theirs, ptr::null_mut(), ptr::null(), &size) };
    assert_eq!(made, 0, "a terminal");
    // SAFETY: both were opened just now, and nothing else owns them.
    unsafe { (File::from_raw_fd(ours), File::from_raw_fd(theirs)) }
}

/// What a terminal receives from the program.
fn drawn(args: &str) -> String {
    let (mut ours, theirs) = terminal();
    let reader = std::thread::spawn(move || {
        let (mut all, mut some) = (Vec::new(), [0; 4096]);
        // The end of a terminal is an error.
        while let Ok(read @ 1..) = ours.read(&mut some) {
            all.extend_from_slice(&some[..read]);
        }
        String::from_utf8_lossy(&all).into_owned()
    });
    let mut scene = Scene::new(args);
    scene.env("TERM", Some("xterm"));
    scene.stderr(theirs);
    let outcome = scene.play(|_| {}).expect("it runs");
    assert_eq!(outcome.exit, Some(0));
    reader.join().expect("all was read")
}

#[test]
fn the_bar_begins_with_the_duration_and_never_says_that_nothing_is_left() {
    let text = drawn("run null syscall/getppid --quick --budget-ms 1500 --no-save");
    let bars: Vec<&str> = text.split(['\r', '\n']).filter(|line| line.contains(" %  ")).collect();
    // The batches and a second for the processes.
    assert!(bars.first().is_some_and(|bar| bar.contains("0 %  about 3 s  starting")), "{bars:?}");
    assert!(bars.iter().any(|bar| bar.contains("epoch 1 of at most")), "{bars:?}");
    assert!(bars.iter().all(|bar| !bar.contains(" 0 s") && !bar.contains("0s")), "{bars:?}");
}

#[test]
fn what_has_no_known_duration_is_named() {
    let text = drawn("doctor");
    assert!(text.contains("watching cpu") && !text.contains("0 %"), "{text:?}");
}
