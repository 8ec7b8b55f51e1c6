//! The state of the assembler while it goes through the statements: symbols, sections, places.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use super::error::{AsmError, Fault, Pos, fault, quoted};
use super::expr::{self, Expr, Names, Operator, Place};
use super::image::OutputSection;
use super::input::{MAX_ERRORS, MAX_IMAGE, MAX_MEMORY, MAX_STATEMENTS, Options, Sources};
use super::mnemonics::Mnemonics;
use super::nesting::{Condition, Frame, Macro};
use super::preprocess::Preprocessor;
use super::section::{Fill, Fixup, FixupKind, Mark, Point, PointKind, Section};
use super::statement::{Line, is_name, name_length};

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Undefined,
    /// `.equ`, `.set`: an expression.
    Equal(Expr),
    Label(Place),
}

pub(super) struct Symbol {
    pub(super) name: String,
    pub(super) value: Value,
    pub(super) global: bool,
    pub(super) weak: bool,
    /// Where it is defined, else where it is used first.
    pub(super) at: Pos,
}

/// The macros around a statement, the innermost first, and where each is used.
type Uses = Vec<(String, Pos)>;

/// `.option`.
#[derive(Clone, Copy)]
pub(super) struct Modes {
    pub(super) rvc: bool,
    pub(super) relax: bool,
}

pub(super) struct Assembler<'a> {
    pub(super) options: &'a Options,
    pub(super) sources: &'a Sources,
    pub(super) preprocessor: Preprocessor<'a>,
    pub(super) mnemonics: Mnemonics,
    pub(super) symbols: Vec<Symbol>,
    /// The symbols of this unit.
    pub(super) names: HashMap<String, u32>,
    /// How often each numeric label of this unit was defined, and the symbol of the next one.
    numbered: HashMap<u64, (u32, Option<u32>)>,
    pub(super) sections: Vec<Section>,
    /// Those of this unit.
    pub(super) unit_sections: HashMap<String, u32>,
    pub(super) section: u32,
    pub(super) previous_section: u32,
    pub(super) section_stack: Vec<(u32, u32)>,
    pub(super) modes: Modes,
    pub(super) mode_stack: Vec<Modes>,
    pub(super) macros: HashMap<String, Rc<Macro<'a>>>,
    pub(super) frames: Vec<Frame<'a>>,
    pub(super) conditions: Vec<Condition>,
    /// `\@`
    pub(super) expansions: u64,
    /// `.altmacro`, and how many names `LOCAL` has made.
    pub(super) alternate: bool,
    pub(super) locals: u64,
    /// Statements so far.
    pub(super) statements: usize,
    pub(super) image_bytes: u64,
    /// Where the statement in hand is.
    pub(super) at: Pos,
    pub(super) errors: Vec<(Pos, Fault, Uses)>,
    /// What `link` placed.
    pub(super) outputs: Vec<OutputSection>,
    stopped: bool,
}

impl<'a> Assembler<'a> {
    pub(super) fn new(sources: &'a Sources, options: &'a Options) -> Self {
        let modes = Modes { rvc: options.isa.has(crate::isa::Extension::C), relax: true };
        Self {
            options,
            sources,
            preprocessor: Preprocessor::new(sources, &options.isa, &options.defines),
            mnemonics: Mnemonics::new(options.isa),
            symbols: Vec::new(),
            names: HashMap::new(),
            numbered: HashMap::new(),
            sections: Vec::new(),
            unit_sections: HashMap::new(),
            section: 0,
            previous_section: 0,
            section_stack: Vec::new(),
            modes,
            mode_stack: Vec::new(),
            macros: HashMap::new(),
            frames: Vec::new(),
            conditions: Vec::new(),
            expansions: 0,
            alternate: false,
            locals: 0,
            statements: 0,
            image_bytes: 0,
            at: Pos::default(),
            errors: Vec::new(),
            outputs: Vec::new(),
            stopped: false,
        }
    }

    /// Assembles a unit into sections of its own.
    pub(super) fn unit(&mut self, name: &str) {
        self.names.clear();
        self.numbered.clear();
        self.unit_sections.clear();
        self.section_stack.clear();
        self.mode_stack.clear();
        self.macros.clear();
        self.alternate = false;
        self.modes = Modes { rvc: self.options.isa.has(crate::isa::Extension::C), relax: true };
        for name in [".text", ".data", ".bss"] {
            self.section = self.section_named(name, None);
        }
        self.section = self.unit_sections[".text"];
        self.sections[self.section as usize].align = if self.modes.rvc { 2 } else { 4 };
        self.previous_section = self.section;
        let lines = self.preprocessor.unit(name);
        self.frames.push(Frame::new(lines, None));
        while let Some((lines, index)) = self.next_line() {
            let line = &lines[index];
            self.at = line.at;
            if let Err(wrong) = self.statement(line) {
                self.report(self.at, wrong);
            }
            if self.stopped {
                break;
            }
        }
        self.frames.clear();
        // The size of a section with code is a multiple of its alignment, with zeros: as GNU `as` does it.
        for section in self.unit_sections.values() {
            let section = &mut self.sections[*section as usize];
            if !section.exec {
                continue;
            }
            let kind = PointKind::Align { to: section.align, fill: Fill::Bytes(0, 1), max: 0, cut: None };
            section.points.push(Point { offset: section.length, size: 0, kind, at: self.at });
        }
        if !self.stopped {
            for condition in std::mem::take(&mut self.conditions) {
                let message = "this condition has no `.endif`".to_owned();
                self.report(condition.at, Fault { token: ".if".into(), message });
            }
        }
        self.conditions.clear();
    }

    /// The next statement; the limit of statements ends the program.
    pub(super) fn next_line(&mut self) -> Option<(Rc<Vec<Line<'a>>>, usize)> {
        if self.stopped {
            return None;
        }
        self.statements += 1;
        if self.statements > MAX_STATEMENTS {
            self.stopped = true;
            let message = format!("macros and repetitions make more than {MAX_STATEMENTS} statements");
            self.report(self.at, Fault { token: String::new(), message });
            return None;
        }
        while let Some(frame) = self.frames.last_mut() {
            match frame.next() {
                Some(line) => return Some(line),
                None => self.frames.pop(),
            };
        }
        None
    }

    pub(super) fn report(&mut self, at: Pos, wrong: Fault) {
        let uses = self.frames.iter().rev().filter_map(|frame| frame.used.clone()).take(5).collect();
        self.errors.push((at, wrong, uses));
        self.stopped |= self.errors.len() >= MAX_ERRORS;
    }

    /// One statement: labels, then a directive, a macro or an instruction.
    fn statement(&mut self, line: &Line<'a>) -> Result<(), Fault> {
        let mut text: &str = &line.text;
        loop {
            let length = text.bytes().position(|b| !is_name(b)).unwrap_or(text.len());
            let rest = text[length..].trim_start();
            let word = &text[..length];
            if let Some(rest) = rest.strip_prefix(':') {
                if self.is_active() {
                    self.label(word)?;
                }
                text = rest.trim_start();
                if text.is_empty() {
                    return Ok(());
                }
                continue;
            }
            if !self.is_active() {
                return self.skipped(&lower_case(word), rest);
            }
            if let Some(value) = rest.strip_prefix('=') {
                return self.assign(word, value.strip_prefix('=').unwrap_or(value), true);
            }
            if word.is_empty() {
                return fault(text, format!("unexpected {}", quoted(text)));
            }
            let name = &*lower_case(word);
            // Macros hide instructions.
            if let Some(definition) = self.macros.get(name) {
                let definition = definition.clone();
                return self.invoke(word, &definition, rest);
            }
            let done = match name.starts_with('.') {
                true => self.directive(name, rest),
                false => self.instruction(name, rest),
            };
            return done.map_err(|mut wrong| {
                if wrong.token == name {
                    wrong.message = wrong.message.replace(&quoted(name), &quoted(word));
                    wrong.token = word.to_owned();
                }
                wrong
            });
        }
    }

    fn label(&mut self, name: &str) -> Result<(), Fault> {
        let place = self.here();
        if let Ok(number) = name.parse::<u64>() {
            let at = self.at;
            let entry = self.numbered.entry(number).or_insert((0, None));
            entry.0 += 1;
            let symbol = entry.1.take();
            let symbol = symbol.unwrap_or_else(|| self.new_symbol(String::new(), at));
            self.symbols[symbol as usize].value = Value::Label(place);
            self.numbered_last(number, symbol);
            return Ok(());
        }
        if name_length(name) != name.len() || name.is_empty() {
            return fault(name, format!("{} cannot be a label", quoted(name)));
        }
        let symbol = self.symbol(name);
        let at = self.at;
        let symbol = &mut self.symbols[symbol as usize];
        if !matches!(symbol.value, Value::Undefined) {
            let (file, line) = (self.preprocessor.files[symbol.at.file as usize], symbol.at.line);
            return fault(name, format!("{} is already defined at {file}:{line}", quoted(name)));
        }
        symbol.value = Value::Label(place);
        symbol.at = at;
        Ok(())
    }

    /// `1b` finds the last definition under a name that no label can have.
    fn numbered_last(&mut self, number: u64, symbol: u32) {
        self.names.insert(format!("{number}b"), symbol);
    }

    /// `.set`, `.equ` and `=`; `again` permits another value.
    pub(super) fn assign(&mut self, name: &str, value: &str, again: bool) -> Result<(), Fault> {
        if name == "." {
            return self.advance_to(value, 0);
        }
        if name_length(name) != name.len() || name.is_empty() {
            return fault(name, format!("{} cannot be a name", quoted(name)));
        }
        let value = self.expression(value)?;
        let symbol = self.symbol(name) as usize;
        let old = &self.symbols[symbol].value;
        if matches!(old, Value::Label(_)) || !again && !matches!(old, Value::Undefined) {
            return fault(name, format!("{} is already defined", quoted(name)));
        }
        self.symbols[symbol].value = Value::Equal(value);
        self.symbols[symbol].at = self.at;
        Ok(())
    }

    pub(super) fn symbol(&mut self, name: &str) -> u32 {
        if let Some(symbol) = self.names.get(name) {
            return *symbol;
        }
        let symbol = self.new_symbol(name.to_owned(), self.at);
        self.names.insert(name.to_owned(), symbol);
        symbol
    }

    fn new_symbol(&mut self, name: String, at: Pos) -> u32 {
        self.symbols.push(Symbol { name, value: Value::Undefined, global: false, weak: false, at });
        self.symbols.len() as u32 - 1
    }

    pub(super) fn here(&self) -> Place {
        self.sections[self.section as usize].here(self.section)
    }

    /// Parses an expression; what is known now is evaluated.
    pub(super) fn expression(&mut self, text: &str) -> Result<Expr, Fault> {
        // Most operands are plain numbers.
        if let Ok(value) = text.parse::<i64>()
            && !text.starts_with('0')
        {
            return Ok(Expr::Number(value));
        }
        expr::parse(text, self)
    }

    /// A number that must be known now.
    pub(super) fn number(&mut self, text: &str) -> Result<i64, Fault> {
        let expr = self.expression(text)?;
        match self.known(&expr) {
            Some(value) => Ok(value),
            None => fault(text, format!("{} is not known at this line", quoted(text))),
        }
    }

    /// The value of an expression if it does not depend on addresses.
    pub(super) fn known(&self, expr: &Expr) -> Option<i64> {
        match self.relative(expr, &mut 2000)? {
            (None, value) => Some(value),
            _ => None,
        }
    }

    /// The value of an expression as a number, or as an offset from a label.
    pub(super) fn relative(&self, expr: &Expr, fuel: &mut u32) -> Option<(Option<Place>, i64)> {
        *fuel = fuel.checked_sub(1)?;
        Some(match expr {
            Expr::Number(value) => (None, *value),
            Expr::Place(place) => (Some(Place { offset: 0, ..*place }), place.offset as i64),
            Expr::Symbol(symbol) => match &self.symbols[*symbol as usize].value {
                Value::Undefined => return None,
                Value::Label(place) => (Some(Place { offset: 0, ..*place }), place.offset as i64),
                Value::Equal(expr) => return self.relative(expr, fuel),
            },
            Expr::Unary(operator, term) => match self.relative(term, fuel)? {
                (None, value) => (None, operator.apply_unary(value)),
                _ => return None,
            },
            Expr::Binary(operator, terms) => {
                let ((base, a), (other, b)) =
                    (self.relative(&terms.0, fuel)?, self.relative(&terms.1, fuel)?);
                let value = operator.apply(a, b)?;
                match (base, other, operator) {
                    (base, None, Operator::Add | Operator::Sub) => (base, value),
                    (None, other, Operator::Add) => (other, value),
                    (base, other, _) if base == other => match operator {
                        Operator::Sub
                        | Operator::Eq
                        | Operator::Ne
                        | Operator::Lt
                        | Operator::Gt
                        | Operator::Le
                        | Operator::Ge => (None, value),
                        _ if base.is_none() => (None, value),
                        _ => return None,
                    },
                    _ => return None,
                }
            }
        })
    }

    /// Makes room for more bytes in the section, within the limits.
    pub(super) fn grow(&mut self, bytes: u64) -> Result<&mut Section, Fault> {
        let section = &mut self.sections[self.section as usize];
        let zero = section.zero;
        let total = self.image_bytes.saturating_add(if zero { 0 } else { bytes });
        if total > MAX_IMAGE {
            return fault("", format!("the sections have more than {} MiB", MAX_IMAGE >> 20));
        }
        if section.length.saturating_add(bytes) > MAX_MEMORY {
            return fault("", format!("the section has more than {} GiB", MAX_MEMORY >> 30));
        }
        self.image_bytes = total;
        section.length += bytes;
        Ok(section)
    }

    pub(super) fn emit(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let section = self.grow(bytes.len() as u64)?;
        if !section.zero {
            section.data.extend_from_slice(bytes);
            return Ok(());
        }
        match bytes.iter().all(|b| *b == 0) {
            true => Ok(()),
            false => fault("", format!("{} holds only zeros", quoted(&section.name))),
        }
    }

    /// Notes the line of what comes next.
    pub(super) fn mark(&mut self) {
        let at = self.at;
        let section = &mut self.sections[self.section as usize];
        let Place { point, offset, .. } = section.here(0);
        section.marks.push(Mark { point, offset, at });
    }

    pub(super) fn fixup(&mut self, kind: FixupKind, expr: Expr) {
        let (place, at) = (self.here(), self.at);
        self.sections[self.section as usize].fixups.push(Fixup { place, kind, expr, at });
    }

    /// The errors, with the lines that they are in.
    pub(super) fn take_errors(&mut self) -> Vec<AsmError> {
        let faults = std::mem::take(&mut self.preprocessor.faults);
        let mut errors = std::mem::take(&mut self.errors);
        errors.extend(faults.into_iter().map(|(at, fault)| (at, fault, Vec::new())));
        errors.sort_by_key(|(at, ..)| *at);
        errors.truncate(MAX_ERRORS);
        let mut lines: HashMap<u32, Vec<&str>> = HashMap::new();
        let files = &self.preprocessor.files;
        let name = |file: u32| files.get(file as usize).copied().unwrap_or_default().to_owned();
        let error = |(at, fault, uses): (Pos, Fault, Uses)| {
            let lines = lines.entry(at.file).or_insert_with(|| {
                let text = self.sources.files.get(&name(at.file));
                text.map(|text| text.lines().collect()).unwrap_or_default()
            });
            let source = lines.get(at.line.saturating_sub(1) as usize).copied().unwrap_or_default();
            let found = find_word(source, &fault.token);
            AsmError {
                file: name(at.file),
                line: at.line,
                column: source[..found].chars().count() as u32 + 1,
                source: source.chars().take(500).collect(),
                // The text of `.error` is as long as the source has it.
                message: fault.message.chars().take(400).collect(),
                expansion: uses.into_iter().map(|(used, at)| (used, name(at.file), at.line)).collect(),
            }
        };
        errors.into_iter().map(error).collect()
    }
}

/// Instructions, directives and macros may be written in capitals; registers and symbols may not.
pub(super) fn lower_case(word: &str) -> Cow<'_, str> {
    match word.bytes().any(|b| b.is_ascii_uppercase()) {
        true => Cow::Owned(word.to_ascii_lowercase()),
        false => Cow::Borrowed(word),
    }
}

/// Where the word is in the line, else where the line's text begins.
fn find_word(line: &str, word: &str) -> usize {
    let start = line.len() - line.trim_start().len();
    if word.is_empty() {
        return start.min(line.len());
    }
    let bytes = line.as_bytes();
    let inside = |at: usize| bytes.get(at).is_some_and(|b| is_name(*b));
    let ends = |at: usize| {
        let end = at + word.len();
        (at == 0 || !(inside(at - 1) && inside(at))) && !(inside(end) && inside(end - 1))
    };
    let mut found = line.match_indices(word).map(|(at, _)| at);
    found.clone().find(|at| ends(*at)).or_else(|| found.next()).unwrap_or(start)
}

impl Names for Assembler<'_> {
    fn name(&mut self, name: &str) -> Option<Expr> {
        if name == "." {
            return Some(Expr::Place(self.here()));
        }
        let symbol = self.symbol(name);
        Some(match &self.symbols[symbol as usize].value {
            // A name may have another value later.
            Value::Equal(Expr::Number(value)) => Expr::Number(*value),
            _ => Expr::Symbol(symbol),
        })
    }

    fn numbered(&mut self, number: u64, forward: bool) -> Option<Expr> {
        if !forward {
            return self.names.get(&format!("{number}b")).map(|symbol| Expr::Symbol(*symbol));
        }
        let next = self.numbered.get(&number).and_then(|(_, next)| *next);
        let symbol = next.unwrap_or_else(|| self.new_symbol(format!("{number}f"), self.at));
        self.numbered.entry(number).or_insert((0, None)).1 = Some(symbol);
        Some(Expr::Symbol(symbol))
    }
}
