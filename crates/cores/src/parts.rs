//! Parts that cores are built of.

pub(crate) mod delays;
pub(crate) mod descriptions;
pub(crate) mod fetchable;
pub(crate) mod latest_stores;
pub(crate) mod memory;
pub(crate) mod memory_stage;
pub(crate) mod operands;
pub(crate) mod operation;
pub(crate) mod predictor;
pub(crate) mod recent;
pub(crate) mod serial;
pub(crate) mod system;
