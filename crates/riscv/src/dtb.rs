//! The device tree that describes the machine to its software.

use vm_fdt::{Error, FdtWriter};

use crate::bus::{
    CACHE_BLOCK, CLINT_BASE, CLINT_SIZE, FINISHER_BASE, FINISHER_SIZE, RAM_BASE, UART_BASE, UART_SIZE,
};
use crate::config::{Config, ConfigError, MachineKind};
use crate::isa::Extension;

/// Ticks of `mtime` in a second; an instruction counts as a nanosecond of it.
pub(crate) const TIMEBASE_HZ: u32 = 10_000_000;

/// Builds the flattened tree, at most `room` bytes.
pub(crate) fn build(config: &Config, room: usize) -> Result<Vec<u8>, ConfigError> {
    // The writer refuses strings with NUL bytes; this error names the argument.
    let tree = write(config).map_err(|e| ConfigError::DeviceTreeContent(e.to_string()))?;
    if tree.len() > room { Err(ConfigError::DeviceTree(tree.len(), room)) } else { Ok(tree) }
}

fn write(config: &Config) -> Result<Vec<u8>, Error> {
    const INTERRUPT_CONTROLLER: u32 = 1;
    let mut fdt = FdtWriter::new()?;
    let root = fdt.begin_node("")?;
    fdt.property_u32("#address-cells", 2)?;
    fdt.property_u32("#size-cells", 2)?;
    let (model, compatible) = match config.machine {
        MachineKind::Spike => ("ucbbar,spike-bare", "ucbbar,spike-bare-dev"),
        MachineKind::Virt => ("riscv-virtio,qemu", "riscv-virtio"),
    };
    fdt.property_string("compatible", compatible)?;
    fdt.property_string("model", model)?;

    let chosen = fdt.begin_node("chosen")?;
    if !config.bootargs.is_empty() {
        fdt.property_string("bootargs", &config.bootargs)?;
    }
    if config.machine == MachineKind::Virt {
        fdt.property_string("stdout-path", "/soc/serial@10000000")?;
    }
    fdt.end_node(chosen)?;

    let cpus = fdt.begin_node("cpus")?;
    fdt.property_u32("#address-cells", 1)?;
    fdt.property_u32("#size-cells", 0)?;
    fdt.property_u32("timebase-frequency", TIMEBASE_HZ)?;
    let cpu = fdt.begin_node("cpu@0")?;
    fdt.property_string("device_type", "cpu")?;
    fdt.property_u32("reg", 0)?;
    fdt.property_string("status", "okay")?;
    fdt.property_string("compatible", "riscv")?;
    fdt.property_string("riscv,isa", &config.isa.to_string())?;
    fdt.property_string("mmu-type", if config.isa.is_rv64() { "riscv,sv48" } else { "riscv,sv32" })?;
    for (extension, property) in
        [(Extension::Zicbom, "riscv,cbom-block-size"), (Extension::Zicboz, "riscv,cboz-block-size")]
    {
        if config.isa.has(extension) {
            fdt.property_u32(property, CACHE_BLOCK as u32)?;
        }
    }
    fdt.property_u32("riscv,pmpregions", 16)?;
    fdt.property_u32("riscv,pmpgranularity", 4)?;
    fdt.property_u32("clock-frequency", 1_000_000_000)?;
    let intc = fdt.begin_node("interrupt-controller")?;
    fdt.property_u32("#address-cells", 2)?;
    fdt.property_u32("#interrupt-cells", 1)?;
    fdt.property_null("interrupt-controller")?;
    fdt.property_string("compatible", "riscv,cpu-intc")?;
    fdt.property_u32("phandle", INTERRUPT_CONTROLLER)?;
    fdt.end_node(intc)?;
    fdt.end_node(cpu)?;
    fdt.end_node(cpus)?;

    let memory = fdt.begin_node(&format!("memory@{RAM_BASE:x}"))?;
    fdt.property_string("device_type", "memory")?;
    fdt.property_array_u64("reg", &[RAM_BASE, config.ram_bytes])?;
    fdt.end_node(memory)?;

    let soc = fdt.begin_node("soc")?;
    fdt.property_u32("#address-cells", 2)?;
    fdt.property_u32("#size-cells", 2)?;
    fdt.property_string_list("compatible", vec!["ucbbar,spike-bare-soc".into(), "simple-bus".into()])?;
    fdt.property_null("ranges")?;
    let clint = fdt.begin_node(&format!("clint@{CLINT_BASE:x}"))?;
    fdt.property_string_list("compatible", vec!["sifive,clint0".into(), "riscv,clint0".into()])?;
    // Software interrupt 3 and timer interrupt 7.
    fdt.property_array_u32("interrupts-extended", &[INTERRUPT_CONTROLLER, 3, INTERRUPT_CONTROLLER, 7])?;
    fdt.property_array_u64("reg", &[CLINT_BASE, CLINT_SIZE])?;
    fdt.end_node(clint)?;
    if config.machine == MachineKind::Virt {
        let serial = fdt.begin_node(&format!("serial@{UART_BASE:x}"))?;
        fdt.property_string("compatible", "ns16550a")?;
        fdt.property_array_u64("reg", &[UART_BASE, UART_SIZE])?;
        fdt.property_u32("clock-frequency", 3_686_400)?;
        fdt.end_node(serial)?;
        let test = fdt.begin_node(&format!("test@{FINISHER_BASE:x}"))?;
        fdt.property_string_list("compatible", vec!["sifive,test1".into(), "sifive,test0".into()])?;
        fdt.property_array_u64("reg", &[FINISHER_BASE, FINISHER_SIZE])?;
        fdt.end_node(test)?;
    }
    fdt.end_node(soc)?;

    if config.machine == MachineKind::Spike {
        let htif = fdt.begin_node("htif")?;
        fdt.property_string("compatible", "ucb,htif0")?;
        fdt.end_node(htif)?;
    }
    fdt.end_node(root)?;
    fdt.finish()
}
