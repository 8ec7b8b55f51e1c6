//! The device tree that describes the machine to its software.

use vm_fdt::{Error, FdtWriter};

use crate::bus::CACHE_BLOCK;
use crate::config::{Config, ConfigError, MachineKind};
use crate::devices::finisher::{POWER_OFF, REBOOT};
use crate::devices::plic::SOURCES;
use crate::isa::Extension;
use crate::map::{
    CLINT_BASE, CLINT_SIZE, FINISHER_BASE, FINISHER_SIZE, PLIC_BASE, PLIC_SIZE, PLIC_SIZE_OF_SPIKE, RTC_BASE,
    RTC_SIZE, RTC_SOURCE, TIMEBASE_HZ, UART_BASE, UART_SIZE, UART_SOURCE, UART_SOURCE_OF_SPIKE, VIRTIO_BASE,
    VIRTIO_SOURCE, VIRTIO_STRIDE,
};

/// The equipment of a machine besides its configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Equipment {
    /// The virtio slots with a device.
    pub(crate) slots: Vec<usize>,
    /// Where the initial RAM disk begins and ends.
    pub(crate) initrd: Option<(u64, u64)>,
    /// Random bytes for the kernel.
    pub(crate) seed: Vec<u8>,
}

/// Builds the flattened tree, at most `room` bytes.
pub(crate) fn build(config: &Config, equipment: &Equipment, room: usize) -> Result<Vec<u8>, ConfigError> {
    // The writer refuses strings with NUL bytes; this error names the argument.
    let tree = write(config, equipment).map_err(|e| ConfigError::DeviceTreeContent(e.to_string()))?;
    if tree.len() > room { Err(ConfigError::DeviceTree(tree.len(), room)) } else { Ok(tree) }
}

fn write(config: &Config, equipment: &Equipment) -> Result<Vec<u8>, Error> {
    // The handles: each hart's interrupt controller, then those of the devices.
    let controllers = 1..=config.harts as u32;
    let plic_handle = controllers.end() + 1;
    let test_handle = plic_handle + 1;
    let extended = |numbers: &[u32]| -> Vec<u32> {
        controllers.clone().flat_map(|hart| numbers.iter().flat_map(move |&n| [hart, n])).collect()
    };
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
    fdt.property_string("stdout-path", "/soc/serial@10000000")?;
    if let Some((start, end)) = equipment.initrd {
        fdt.property_u64("linux,initrd-start", start)?;
        fdt.property_u64("linux,initrd-end", end)?;
    }
    if !equipment.seed.is_empty() {
        fdt.property("rng-seed", &equipment.seed)?;
    }
    fdt.end_node(chosen)?;

    let cpus = fdt.begin_node("cpus")?;
    fdt.property_u32("#address-cells", 1)?;
    fdt.property_u32("#size-cells", 0)?;
    fdt.property_u32("timebase-frequency", TIMEBASE_HZ)?;
    for handle in controllers.clone() {
        let number = handle - 1;
        let cpu = fdt.begin_node(&format!("cpu@{number:x}"))?;
        fdt.property_string("device_type", "cpu")?;
        fdt.property_u32("reg", number)?;
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
        fdt.property_u32("phandle", handle)?;
        fdt.end_node(intc)?;
        fdt.end_node(cpu)?;
    }
    fdt.end_node(cpus)?;

    let memory = fdt.begin_node(&format!("memory@{:x}", config.ram_base))?;
    fdt.property_string("device_type", "memory")?;
    fdt.property_array_u64("reg", &[config.ram_base, config.ram_bytes])?;
    fdt.end_node(memory)?;

    let soc = fdt.begin_node("soc")?;
    fdt.property_u32("#address-cells", 2)?;
    fdt.property_u32("#size-cells", 2)?;
    fdt.property_string_list("compatible", vec!["ucbbar,spike-bare-soc".into(), "simple-bus".into()])?;
    fdt.property_null("ranges")?;
    let clint = fdt.begin_node(&format!("clint@{CLINT_BASE:x}"))?;
    fdt.property_string_list("compatible", vec!["sifive,clint0".into(), "riscv,clint0".into()])?;
    // Software interrupt 3 and timer interrupt 7.
    fdt.property_array_u32("interrupts-extended", &extended(&[3, 7]))?;
    fdt.property_array_u64("reg", &[CLINT_BASE, CLINT_SIZE])?;
    fdt.end_node(clint)?;
    let virt = config.machine == MachineKind::Virt;
    // Those of Spike are in its riscv/platform.h, riscv/plic.cc and riscv/ns16550.cc.
    let (plic_size, sources, uart_source, uart_hz) = match config.machine {
        MachineKind::Spike => (PLIC_SIZE_OF_SPIKE, 31, UART_SOURCE_OF_SPIKE, 10_000_000),
        MachineKind::Virt => (PLIC_SIZE, SOURCES, UART_SOURCE, 3_686_400),
    };
    let plic = fdt.begin_node(&format!("plic@{PLIC_BASE:x}"))?;
    fdt.property_string_list("compatible", vec!["sifive,plic-1.0.0".into(), "riscv,plic0".into()])?;
    fdt.property_u32("#interrupt-cells", 1)?;
    fdt.property_u32("#address-cells", 0)?;
    fdt.property_null("interrupt-controller")?;
    // External interrupt 11 of machine mode, 9 of supervisor mode.
    fdt.property_array_u32("interrupts-extended", &extended(&[11, 9]))?;
    fdt.property_array_u64("reg", &[PLIC_BASE, plic_size])?;
    fdt.property_u32("riscv,ndev", sources)?;
    fdt.property_u32("phandle", plic_handle)?;
    fdt.end_node(plic)?;
    let device = |fdt: &mut FdtWriter, name: &str, compatible: &str, base, size, source| {
        let node = fdt.begin_node(&format!("{name}@{base:x}"))?;
        fdt.property_string("compatible", compatible)?;
        fdt.property_array_u64("reg", &[base, size])?;
        fdt.property_u32("interrupt-parent", plic_handle)?;
        fdt.property_u32("interrupts", source)?;
        if base == UART_BASE {
            fdt.property_u32("clock-frequency", uart_hz)?;
            if !virt {
                fdt.property_u32("reg-shift", 0)?;
                fdt.property_u32("reg-io-width", 1)?;
            }
        }
        fdt.end_node(node)
    };
    device(&mut fdt, "serial", "ns16550a", UART_BASE, UART_SIZE, uart_source)?;
    if virt {
        device(&mut fdt, "rtc", "google,goldfish-rtc", RTC_BASE, RTC_SIZE, RTC_SOURCE)?;
        for &slot in &equipment.slots {
            let base = VIRTIO_BASE + VIRTIO_STRIDE * slot as u64;
            device(&mut fdt, "virtio_mmio", "virtio,mmio", base, VIRTIO_STRIDE, VIRTIO_SOURCE + slot as u32)?;
        }
        let test = fdt.begin_node(&format!("test@{FINISHER_BASE:x}"))?;
        let compatible = ["sifive,test1", "sifive,test0", "syscon"].map(Into::into).to_vec();
        fdt.property_string_list("compatible", compatible)?;
        fdt.property_array_u64("reg", &[FINISHER_BASE, FINISHER_SIZE])?;
        fdt.property_u32("phandle", test_handle)?;
        fdt.end_node(test)?;
    }
    fdt.end_node(soc)?;
    if config.machine == MachineKind::Virt {
        for (name, value) in [("poweroff", POWER_OFF), ("reboot", REBOOT)] {
            let node = fdt.begin_node(name)?;
            fdt.property_string("compatible", &format!("syscon-{name}"))?;
            fdt.property_u32("regmap", test_handle)?;
            fdt.property_u32("offset", 0)?;
            fdt.property_u32("value", value)?;
            fdt.end_node(node)?;
        }
    }

    if config.machine == MachineKind::Spike {
        let htif = fdt.begin_node("htif")?;
        fdt.property_string("compatible", "ucb,htif0")?;
        fdt.end_node(htif)?;
    }
    fdt.end_node(root)?;
    fdt.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The serial port is at 0x10000000 on both machines; Spike's tree says how wide its registers are (riscv/ns16550.cc).
    #[test]
    fn each_machine_has_a_serial_port_in_its_tree() {
        for (machine, is_spike) in [(MachineKind::Spike, true), (MachineKind::Virt, false)] {
            let config = Config { machine, ..Config::default() };
            let tree = build(&config, &Equipment::default(), 0x1_0000).unwrap();
            let has = |text: &str| tree.windows(text.len()).any(|found| found == text.as_bytes());
            for name in ["serial@10000000", "ns16550a", "plic@c000000", "stdout-path"] {
                assert!(has(name), "{machine:?}: {name}");
            }
            assert_eq!([has("reg-io-width"), has("reg-shift"), has("htif")], [is_spike; 3], "{machine:?}");
        }
    }
}
