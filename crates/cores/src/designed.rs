//! Whether a design's file has as code what a core's keys say.

use super::core::Core;
use super::keys::{Branches, Design, Kind, Memory, Operation, Operations, Pipeline, Predictor, System};

impl Core {
    /// Whether the file of the design times this core: the keys that it has as code have its values. The model that reads all
    /// keys times any other core.
    pub(super) fn is_as_designed(&self) -> bool {
        let design = match self.design {
            Design::Textbook => return self.is_textbook(),
            Design::Ibex => "ibex",
            Design::Picorv32 => "picorv32",
            Design::Vexriscv => "vexriscv",
            Design::Cva6 => "cva6",
            Design::Rocket => return self.is_rocket(),
        };
        let Ok(mut design) = Core::preset(design) else { return false };
        let overlaps = matches!(self.design, Design::Vexriscv | Design::Cva6);
        if self.design == Design::Cva6 {
            (design.fault, design.memory.write_latency) = (self.fault, self.memory.write_latency);
        }
        let expected = Core {
            branch: with_sizes(design.branch, &self.branch),
            operation: Operations { iterative: design.operation.iterative, ..self.operation },
            system: System { asid_bits: self.system.asid_bits, ..design.system },
            memory: with_latencies(design.memory, &self.memory),
            pipeline: design.pipeline,
            trap: design.trap,
            fault: design.fault,
            ..self.clone()
        };
        let same = overlaps || overlap(&self.operation) == overlap(&design.operation);
        expected == *self && same && self.predicts_by_tables() && !self.operation.float_divide.digits
    }

    /// The same of Rocket: all latencies of memory and of floating-point operations are parameters.
    fn is_rocket(&self) -> bool {
        let Ok(design) = Core::preset("rocket") else { return false };
        let (o, expected) = (&self.operation, &design.operation);
        let expected = Core {
            branch: with_sizes(design.branch, &self.branch),
            operation: Operations {
                iterative: o.iterative,
                float: Operation { cycles: o.float.cycles, ..expected.float },
                float_multiply: Operation { cycles: o.float_multiply.cycles, ..expected.float_multiply },
                float_divide: Operation { cycles: o.float_divide.cycles, ..expected.float_divide },
                ..*expected
            },
            system: System { asid_bits: self.system.asid_bits, ..design.system },
            memory: Memory {
                write_latency: design.memory.write_latency,
                store_slots: design.memory.store_slots,
                ..self.memory
            },
            pipeline: design.pipeline,
            trap: design.trap,
            fault: design.fault,
            ..self.clone()
        };
        expected == *self && o.iterative > 0 && self.branch.predictor == Predictor::History
    }

    /// The same of a core whose pipeline is described by keys.
    fn is_textbook(&self) -> bool {
        let (none, pipe) = (Core::default(), &self.pipeline);
        let expected = Core {
            pipeline: Pipeline {
                redo: none.pipeline.redo,
                late_miss: none.pipeline.late_miss,
                rigid: none.pipeline.rigid,
                every_writer: none.pipeline.every_writer,
                write_order: none.pipeline.write_order,
                float_load_use: none.pipeline.float_load_use,
                narrow_load_use: none.pipeline.narrow_load_use,
                replay: none.pipeline.replay,
                ..*pipe
            },
            branch: Branches {
                fetch_queue: none.branch.fetch_queue,
                btb_associative: none.branch.btb_associative,
                odd_calls: none.branch.odd_calls,
                found_in_memory: none.branch.found_in_memory,
                wrong_path: none.branch.wrong_path,
                ..self.branch
            },
            operation: Operations { iterative: none.operation.iterative, ..self.operation },
            system: System {
                fence: none.system.fence,
                float_flags_wait: none.system.float_flags_wait,
                fence_i_early: none.system.fence_i_early,
                ..self.system
            },
            memory: Memory {
                store_slots: none.memory.store_slots,
                ..with_latencies(none.memory, &self.memory)
            },
            fault: none.fault,
            ..self.clone()
        };
        expected == *self
            && pipe.kind != Kind::Scoreboard
            && !self.trap.interrupt_in_decode
            && self.predicts_by_tables()
            && !self.operation.float_divide.digits
    }

    fn predicts_by_tables(&self) -> bool {
        self.branch.predictor != Predictor::History
    }
}

/// The branches of a design with the predictor of a core.
fn with_sizes(design: Branches, core: &Branches) -> Branches {
    let Branches { predictor, counters, btb, return_stack, .. } = *core;
    Branches { predictor, counters, btb, return_stack, ..design }
}

/// The memory of a core, but what the pipe does with it as in a design.
fn with_latencies(design: Memory, core: &Memory) -> Memory {
    Memory {
        write_latency: design.write_latency,
        fetch_miss_step: design.fetch_miss_step,
        fetch_fill: design.fetch_fill,
        line_words: design.line_words,
        request: design.request,
        fetch_request: design.fetch_request,
        tag_update: design.tag_update,
        device_posted: design.device_posted,
        ..*core
    }
}

/// How operations overlap with the instructions behind them.
fn overlap(of: &Operations) -> Vec<(bool, bool, u32)> {
    let optional =
        [of.shift, of.load, of.store, of.branch, of.jump, of.indirect, of.fence_i, of.multiply_high];
    let float = [of.float_move, of.float_convert, of.float_divide_single, of.double, of.float_to_integer];
    let always =
        [of.arithmetic, of.multiply, of.divide, of.float, of.float_multiply, of.float_divide, of.atomic];
    let given = optional.into_iter().chain(float).map(Option::unwrap_or_default);
    given.chain(always).map(|Operation { pipelined, late, use_, .. }| (pipelined, late, use_)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_and_their_parameters_are_timed_by_the_files_of_their_designs() {
        for name in Core::PRESETS {
            let core = Core::preset(name).unwrap();
            assert!(core.is_as_designed(), "{name}");
            // Rocket predicts from history, and its unit iterates.
            let (predictor, operation) = match *name {
                "rocket" => ("history", "float.cycles = 6"),
                _ => ("bimodal", "multiply.cycles = 6"),
            };
            let keys = format!(
                "l1d = {{ geometry = '2:2:16', replacement = 'lru' }}
                itlb.entries = 3
                memory.latency = 77
                operation.{operation}
                branch = {{ predictor = '{predictor}', counters = 8, btb = 4, return-stack = 2 }}"
            );
            let core = Core::from_toml(&format!("name = 'mine'\nbase = '{name}'\n{keys}")).unwrap();
            assert!(core.is_as_designed(), "{name}");
        }
    }
}
