//! `tollgate lab serve`: the page's files over HTTP, on this computer only.
//!
//! `httparse` reads the requests. (`tiny_http` would do more of the rest, but reads a line of a request, however long it is, and
//! starts threads as connections come.) Every request is bounded in bytes and time, has one answer, and ends the connection.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use tollgate_supervise::Stop;

use super::pages::{INDEX, Pages, media_type};
use crate::args::Usage;
use crate::output::{Sink, say};

/// The longest request, its most fields, and how long it and its answer may take.
const LONGEST: usize = 16 << 10;
const MOST_FIELDS: usize = 64;
const PATIENCE: Duration = Duration::from_secs(10);
/// Connections at a time; a browser opens six.
const MOST_CONNECTIONS: usize = 32;
/// Between two looks whether it is to end.
const LOOK: Duration = Duration::from_millis(20);

/// `tollgate lab serve`.
#[derive(Args)]
#[command(
    after_help = "Only this computer can open the page, and only the page's files are served. Ctrl-C ends it.\n\nExamples:\n  \
                        tollgate lab serve\n  tollgate lab serve --port 8000 page"
)]
pub(super) struct ServeArgs {
    /// The folder of the page [default: the page in this program, else the folder page beside it]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// The port [default: a free one]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
}

pub(super) fn run(args: &ServeArgs) -> Result<ExitCode> {
    let pages = Arc::new(Pages::open(args.folder.as_deref())?);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port.unwrap_or(0))).map_err(|error| {
        let port = args.port.unwrap_or(0);
        Usage::value("--port", port, format!("{error}; without --port a free one is chosen"))
    })?;
    let port = listener.local_addr().context("the port cannot be read back")?.port();
    let stop = Stop::on_signal()?;
    listener.set_nonblocking(true).context("the port cannot be waited for")?;
    Sink::text(None, "")?.deliver(format!("http://127.0.0.1:{port}/\n"))?;
    say("the lab's page is at that address, for this computer only; Ctrl-C ends it");
    let open = Arc::new(AtomicUsize::new(0));
    while !stop.is_set() {
        match listener.accept() {
            Ok((stream, _)) if open.load(Ordering::Relaxed) < MOST_CONNECTIONS => {
                let (pages, counted) = (Arc::clone(&pages), Counted::new(&open));
                thread::spawn(move || {
                    // A browser that goes away is not an error.
                    let _ = answer(stream, &pages, port);
                    drop(counted);
                });
            }
            Ok(_) => {}
            Err(_) => thread::sleep(LOOK),
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Counts an open connection, also if its thread panics.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(open))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reads one request and answers it.
fn answer(mut stream: TcpStream, pages: &Pages, port: u16) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let until = Instant::now() + PATIENCE;
    let mut bytes = Vec::new();
    let mut part = [0; 2048];
    loop {
        let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
        let mut request = httparse::Request::new(&mut fields);
        match request.parse(&bytes) {
            Ok(httparse::Status::Complete(_)) => {
                let reply = reply(&request, pages, port);
                return reply.write(&mut stream, request.method == Some("HEAD"));
            }
            Ok(httparse::Status::Partial) if bytes.len() < LONGEST => {}
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
                return Reply::error(431, "Request Header Fields Too Large").write(&mut stream, false);
            }
            Err(_) => return Reply::error(400, "Bad Request").write(&mut stream, false),
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Reply::error(408, "Request Timeout").write(&mut stream, false);
        }
        stream.set_read_timeout(Some(left))?;
        let room = part.len().min(LONGEST - bytes.len());
        match stream.read(&mut part[..room])? {
            0 => return Ok(()),
            n => bytes.extend_from_slice(&part[..n]),
        }
    }
}

struct Reply<'a> {
    status: u16,
    reason: &'static str,
    media_type: &'static str,
    body: &'a [u8],
}

fn reply<'a>(request: &httparse::Request<'_, '_>, pages: &'a Pages, port: u16) -> Reply<'a> {
    // A page elsewhere whose name leads here (DNS rebinding) has its own name in the field.
    let mut hosts = request.headers.iter().filter(|field| field.name.eq_ignore_ascii_case("host"));
    let is_here = |value: &[u8]| {
        [format!("127.0.0.1:{port}"), format!("localhost:{port}")].iter().any(|name| name.as_bytes() == value)
    };
    match (hosts.next(), hosts.next()) {
        (Some(host), None) if is_here(host.value) => {}
        _ => return Reply::error(421, "Misdirected Request"),
    }
    if !matches!(request.method, Some("GET" | "HEAD")) {
        return Reply::error(405, "Method Not Allowed");
    }
    let path = request.path.unwrap_or_default().split(['?', '#']).next().unwrap_or_default();
    let name = match path.strip_prefix('/') {
        Some("") => INDEX,
        Some(name) => name,
        None => return Reply::error(400, "Bad Request"),
    };
    match pages.get(name) {
        Some(body) => Reply { status: 200, reason: "OK", media_type: media_type(name), body },
        None => Reply::error(404, "Not Found"),
    }
}

impl Reply<'static> {
    fn error(status: u16, reason: &'static str) -> Self {
        Self { status, reason, media_type: "text/plain; charset=utf-8", body: reason.as_bytes() }
    }
}

impl Reply<'_> {
    fn write(&self, stream: &mut TcpStream, is_head: bool) -> io::Result<()> {
        let Self { status, reason, media_type, body } = self;
        let head = format!(
            "HTTP/1.1 {status} {reason}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\
             X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\nCache-Control: no-cache\r\n\
             Connection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        if !is_head {
            stream.write_all(body)?;
        }
        stream.flush()
    }
}
