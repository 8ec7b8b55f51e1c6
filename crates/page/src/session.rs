//! A session: what a page holds between two requests.

use serde_json::{Value, json};
use tollgate_cores::Core;
use tollgate_lab::{DESIGNS, own};
use tollgate_record::Run as Record;
use tollgate_riscv::{X_NAMES, csr};

use crate::assemble::{self, hex, listed};
use crate::caches::{self, Shown};
use crate::failure::{Answer, Failure};
use crate::request::{Breakpoint, Line, Load, Request, Run, Space};
use crate::running::{Break, Goal, Running, Stop};
use crate::state::{self, Before};
use crate::{lists, pipeline, program, sheets, trap_walk, walk, words};

/// Instructions of a run that has no other limit.
const LIMIT: u64 = 10_000_000_000;
/// Steps between two looks, in a call that goes on to its end.
const SLICE: u64 = 1 << 20;
const MOST_MEMORY: u64 = 1 << 16;
const MOST_LISTED: usize = 1000;
const MOST_MAPPINGS: usize = 1000;
/// Sheets whose records can still be saved.
const MOST_SHEETS: usize = 64;

/// What a page holds: a loaded program, and the sheets that were made.
#[derive(Default)]
pub struct Session {
    running: Option<Running>,
    load: Option<Load>,
    loads: u64,
    before: Before,
    shown: Shown,
    /// The number of the first one, and the sheets.
    sheets: (usize, Vec<Record>),
    /// Console output that was answered by `advance`.
    printed: usize,
}

impl Session {
    /// Answers a request: JSON in, JSON out, as `protocol.ts` says: `{"ok": true, "answer": ...}` or
    /// `{"ok": false, "error": ...}`. What is wrong with a request or a program is an answer, too.
    pub fn call(&mut self, request: &str) -> String {
        let answer = serde_json::from_str(request)
            .map_err(|error| Failure::request(format!("not a request: {error}")))
            .and_then(|request| self.answer(request));
        match answer {
            Ok(answer) => json!({ "ok": true, "answer": answer }),
            Err(failure) => json!({ "ok": false, "error": failure.to_json() }),
        }
        .to_string()
    }

    fn answer(&mut self, request: Request) -> Answer {
        match request {
            Request::About => Ok(json!({
                "version": env!("CARGO_PKG_VERSION"), "cores": Core::PRESETS,
                "kernels": DESIGNS.iter().map(|design| design.name).collect::<Vec<_>>(),
            })),
            Request::Assemble { files, isa, base, entry } => {
                assemble::assembled(&files, isa.as_deref().unwrap_or("rv64gc"), base.as_deref(), entry)
            }
            Request::Load(load) => self.load(load),
            Request::Reset => {
                let load = self.load.clone().ok_or_else(nothing)?;
                self.load(load)
            }
            Request::Pause => Ok(Value::Null),
            Request::Run(_) | Request::RunTo { .. } | Request::GoTo { .. } => {
                self.start(&request)?;
                let stop = loop {
                    if let Some(stop) = self.running()?.advance(SLICE)? {
                        break stop;
                    }
                };
                self.ran(&stop)
            }
            Request::Start { run } => {
                self.start(&run)?;
                Ok(Value::Null)
            }
            Request::Advance { steps } => self.advance(steps),
            Request::Step { count } => {
                let stop = self.running()?.step(count.unwrap_or(1).clamp(1, 1_000_000))?;
                self.ran(&stop)
            }
            Request::Back { count, cycles } => self.back(count, cycles),
            Request::State => self.state(),
            Request::Memory { address, length, space } => self.memory(&address, length, space),
            Request::Walk { address, access } => {
                let address = self.address(&address)?;
                walk::walk(self.running()?.machine(), address, access)
            }
            Request::Mappings { limit } => {
                walk::mappings(self.running()?.machine(), limit.unwrap_or(MOST_MAPPINGS))
            }
            Request::Disassemble { address, count } => self.disassemble(address.as_deref(), count),
            Request::Pipeline { count } => pipeline::pipeline(self.running()?, count),
            Request::Caches => caches::caches(self.running.as_ref().ok_or_else(nothing)?, &mut self.shown),
            Request::Traps => {
                let running = self.running()?;
                Ok(running.traps.so_far().map(|noted| trap_walk::event(running, noted)).collect())
            }
            Request::TrapWalk { index } => trap_walk::walk(self.running()?, index),
            Request::Type { text } => {
                self.running()?.type_in(&text);
                self.state()
            }
            Request::Sheet { sheet } => self.sheet(&sheet),
            Request::Record { sheet, started, id } => {
                let (first, sheets) = &self.sheets;
                let number = sheet.unwrap_or(first + sheets.len().saturating_sub(1));
                let run = number.checked_sub(*first).and_then(|at| sheets.get(at));
                sheets::saved(run.ok_or_else(|| Failure::request("there is no such sheet"))?, &id, &started)
            }
            Request::Cores => lists::cores(),
            Request::CheckCore { toml } => lists::check_core(&toml),
            Request::Kernels => lists::kernels(),
            Request::Gallery => lists::gallery(),
            Request::Exercises => lists::exercises(),
            Request::Exercise { exercise, student } => lists::start(&exercise, &student),
            Request::Check { exercise, student, files } => lists::check(&exercise, &student, &files),
            Request::Words { isa } => Ok(words::words(assemble::isa(isa.as_deref())?)),
            Request::Template => Ok(own::TEMPLATE.into()),
        }
    }

    fn running(&mut self) -> Result<&mut Running, Failure> {
        self.running.as_mut().ok_or_else(nothing)
    }

    fn load(&mut self, load: Load) -> Answer {
        // What was loaded before goes first: two machines need twice the memory.
        self.running = None;
        self.running = Some(Running::new(program::load(&load)?)?);
        self.load = Some(load);
        self.loads += 1;
        self.printed = 0;
        (self.before, self.shown) = (Before::default(), Shown::default());
        self.state()
    }

    fn state(&mut self) -> Answer {
        let running = self.running.as_ref().ok_or_else(nothing)?;
        Ok(state::state(running, self.loads, &mut self.before))
    }

    fn ran(&mut self, stop: &Stop) -> Answer {
        Ok(json!({ "stop": state::stop(stop), "state": self.state()? }))
    }

    /// Begins a run.
    fn start(&mut self, request: &Request) -> Result<(), Failure> {
        let goal = match request {
            Request::Run(Run { breakpoints, limit }) => {
                let breaks = breakpoints.iter().map(|at| self.breakpoint(at));
                Goal {
                    breaks: breaks.collect::<Result<_, _>>()?,
                    limit: limit.or(Some(LIMIT)),
                    ..Goal::default()
                }
            }
            Request::RunTo { address, line, limit } => {
                let addresses = match (address, line) {
                    (Some(address), _) => vec![self.address(address)?],
                    (None, Some(line)) => self.addresses(line)?,
                    (None, None) => return Err(Failure::request("runTo needs an address or a line")),
                };
                let limit = limit.or(Some(LIMIT));
                Goal { breaks: vec![Break::At(addresses)], breaks_are_done: true, limit, ..Goal::default() }
            }
            Request::GoTo { position, cycle } => {
                if cycle.is_some() && self.running()?.cycles().is_none() {
                    return Err(Failure::machine("there are no cycles without a core: choose one"));
                }
                Goal { position: *position, cycle: *cycle, ..Goal::default() }
            }
            _ => return Err(Failure::request("only run, runTo and goTo can be started")),
        };
        let running = self.running()?;
        let limit = goal.limit.map(|limit| limit.saturating_add(running.machine().instret()));
        self.printed = 0;
        self.running()?.start(Goal { limit, ..goal })
    }

    /// Continues a run.
    fn advance(&mut self, steps: u64) -> Answer {
        let running = self.running.as_mut().ok_or_else(nothing)?;
        let stop = running.advance(steps)?;
        let machine = running.machine();
        let console = machine.console();
        let printed = self.printed.min(console.len());
        self.printed = console.len();
        Ok(json!({
            "stop": stop.as_ref().map(state::stop), "position": running.position(), "instructions": machine.instret(),
            "cycles": running.cycles(), "console": String::from_utf8_lossy(&console[printed..]),
        }))
    }

    fn back(&mut self, count: Option<u64>, cycles: Option<u64>) -> Answer {
        let running = self.running()?;
        let stop = match cycles {
            None => running.back(count.unwrap_or(1))?,
            Some(cycles) => {
                let now = running.cycles();
                let now =
                    now.ok_or_else(|| Failure::machine("there are no cycles without a core: choose one"))?;
                if running.position() == 0 {
                    Stop::Start
                } else {
                    running.start(Goal { cycle: Some(now.saturating_sub(cycles)), ..Goal::default() })?;
                    loop {
                        if let Some(stop) = running.advance(SLICE)? {
                            break stop;
                        }
                    }
                }
            }
        };
        self.ran(&stop)
    }

    fn breakpoint(&mut self, at: &Breakpoint) -> Result<Break, Failure> {
        Ok(match at {
            Breakpoint::Address { address } => Break::At(vec![self.address(address)?]),
            Breakpoint::Line(line) => Break::At(self.addresses(line)?),
            Breakpoint::Csr { csr: name } => {
                let number = (0..4096).find(|&number| csr::name(number).as_deref() == Some(name));
                Break::Csr(number.ok_or_else(|| Failure::request(format!("no register is called '{name}'")))?)
            }
            Breakpoint::Trap { cause } => Break::Trap(cause.clone()),
        })
    }

    /// A symbol, a register's value, or a number.
    fn address(&mut self, text: &str) -> Result<u64, Failure> {
        let running = self.running()?;
        let text = text.trim();
        if text == "pc" {
            return Ok(running.machine().pc());
        }
        let of_register = || {
            let number = X_NAMES.iter().position(|name| *name == text)?;
            Some(running.machine().x(number as u8))
        };
        let symbol = running.loaded.elf.symbol(text);
        symbol.or_else(of_register).or_else(|| assemble::number(text)).ok_or_else(|| {
            let names = running.loaded.elf.symbols.iter().map(|symbol| symbol.name.as_str());
            let nearest = tollgate_record::text::nearest(text, names);
            let meant = tollgate_record::text::suggestion(nearest);
            Failure::request(format!("'{text}' is not a symbol, register or address{meant}"))
        })
    }

    /// The addresses of a line: the first one of each place that it is assembled to.
    fn addresses(&mut self, line: &Line) -> Result<Vec<u64>, Failure> {
        let running = self.running()?;
        let executable = &running.loaded.executable;
        let image = executable.image();
        let image =
            image.ok_or_else(|| Failure::request("the program has no source here: give an address"))?;
        let file = image.files.iter().position(|name| *name == line.file);
        let at = |entry: &&tollgate_riscv::asm::LineEntry| {
            Some(entry.file as usize) == file && entry.line == line.line
        };
        let is_code = |address: u64| {
            image.sections.iter().any(|it| it.exec && address.wrapping_sub(it.address) < it.size)
        };
        let all = image.lines.iter().filter(at).map(|entry| entry.address).filter(|&it| is_code(it));
        let all: Vec<u64> = all.collect();
        match all.is_empty() {
            false => Ok(all),
            true => Err(Failure::request(format!("line {} of {} has no instruction", line.line, line.file))),
        }
    }

    fn memory(&mut self, address: &str, length: u64, space: Space) -> Answer {
        let address = self.address(address)?;
        let running = self.running()?;
        let machine = running.machine();
        let byte = |at: u64| {
            let pa = if space == Space::Physical { Some(at) } else { walk::physical(machine, at) };
            machine.read_memory(pa?, 1).ok().map(|bytes| bytes[0])
        };
        let length = length.min(MOST_MEMORY);
        let bytes = (0..length)
            .map(|i| byte(address.wrapping_add(i)).map_or("..".into(), |byte| format!("{byte:02x}")));
        let bytes = bytes.collect::<Vec<String>>();
        let inside = running.loaded.elf.symbols.iter().filter(|it| it.address.wrapping_sub(address) < length);
        Ok(json!({ "address": hex(address), "bytes": bytes, "symbols": assemble::symbols(inside) }))
    }

    fn disassemble(&mut self, address: Option<&str>, count: Option<usize>) -> Answer {
        let address = address.map(|address| self.address(address)).transpose()?;
        let running = self.running()?;
        let pc = running.machine().pc();
        let mut at = address.unwrap_or(pc);
        let mut lines = Vec::new();
        for _ in 0..count.unwrap_or(16).min(MOST_LISTED) {
            let found = running.instruction(at);
            let (length, word) = found.map_or((2, None), |(insn, word)| (u64::from(insn.len), Some(word)));
            let loaded = &running.loaded;
            lines.push(listed(
                running.machine().decoder(),
                &loaded.places,
                &loaded.executable,
                at,
                word,
                at == pc,
            ));
            at = at.wrapping_add(length);
        }
        Ok(lines.into())
    }

    fn sheet(&mut self, sheet: &crate::request::Sheet) -> Answer {
        let run = sheets::run(sheet, self.running.as_ref().map(|running| &running.loaded))?;
        let (first, sheets) = &mut self.sheets;
        if sheets.len() == MOST_SHEETS {
            sheets.remove(0);
            *first += 1;
        }
        let answer = sheets::shown(&run, *first + sheets.len());
        sheets.push(run);
        answer
    }
}

fn nothing() -> Failure {
    Failure::machine("nothing is loaded: load a program first")
}
