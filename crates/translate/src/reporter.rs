//! The way from translations to an observer that counts.

use std::mem::offset_of;

use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{AbiParam, Function, InstBuilder, Signature, UserFuncName};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use crate::state::{State, report};

/// The parameters of [`report`].
const PARAMETERS: usize = 4;

/// The signature of [`reporter`]: it preserves all registers, so that code that seldom calls it pays nothing for it.
pub(crate) fn signature() -> Signature {
    let mut signature = Signature::new(CallConv::PreserveAll);
    signature.params.extend([AbiParam::new(I64); PARAMETERS]);
    signature
}

/// Writes the function through which regions call [`report`].
pub(crate) fn reporter(
    function: &mut Function,
    context: &mut FunctionBuilderContext,
    target: TargetFrontendConfig,
) {
    function.name = UserFuncName::default();
    function.signature = signature();
    let mut builder = FunctionBuilder::new(function, context);
    let block = builder.create_block();
    builder.append_block_params_for_function_params(block);
    builder.switch_to_block(block);
    let arguments = builder.block_params(block).to_vec();
    let mut native = Signature::new(target.default_call_conv);
    native.params.extend([AbiParam::new(I64); PARAMETERS]);
    let callee = builder.import_signature(native);
    let address = builder.ins().iconst(I64, report as *const () as i64);
    builder.ins().call_indirect(callee, address, &arguments);
    builder.ins().return_(&[]);
    builder.seal_all_blocks();
    builder.finalize(target);
}

/// The counts of the current block that are not stored yet, and the line that was probed.
#[derive(Default)]
pub(crate) struct Counts {
    /// By offset in the state, in order.
    pub(crate) unsettled: Vec<(usize, u64)>,
    /// The line that the fetch before was from.
    pub(crate) line: Option<u64>,
    /// Whether the next fetch may be the first in its page: all of a region is in one page, which stays quiet.
    pub(crate) probes_page: bool,
}

impl Counts {
    pub(crate) fn add(&mut self, offset: usize, count: u64) {
        let offset = offset_of!(State, passed) + offset;
        match self.unsettled.iter_mut().find(|(place, _)| *place == offset) {
            Some((_, sum)) => *sum += count,
            None => self.unsettled.push((offset, count)),
        }
    }

    /// Begins another block, which may be the one in which the region is entered. The fetch before was from this line, if that is
    /// known.
    pub(crate) fn begin(&mut self, is_entry: bool, line: Option<u64>) {
        *self = Self { line, probes_page: is_entry, ..Self::default() };
    }

    /// They are stored.
    pub(crate) fn settle(&mut self) {
        self.unsettled.clear();
    }
}
