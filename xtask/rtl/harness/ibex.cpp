// Ibex.
#include "Vcore.h"
#include "ports.h"

void simulate(Sim &sim) {
    Vcore core;
    Ports<Vcore> ports;
    core.boot_addr_i = ROM;
    core.fetch_enable_i = 5;  // IbexMuBiOn
    core.scan_rst_ni = 1;
    core.instr_gnt_i = core.data_gnt_i = 1;
    reset(core);
    for (; sim.running(); sim.tick()) {
        core.irq_external_i = sim.external;
        core.irq_timer_i = sim.timer();
        core.irq_software_i = sim.software();
        ports.answer(sim, core);
        clock(core, 0);
        if (core.rvfi_valid) sim.retire(core.rvfi_pc_rdata, core.rvfi_trap);
        ports.request(sim, core, [](Answer &) { return false; });
        clock(core, 1);
    }
}
