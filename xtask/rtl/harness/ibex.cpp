// Ibex: two ports with request, grant and a later answer, each in order.
#include "Vcore.h"
#include "sim.h"

struct Answer {
    uint32_t data;
    bool error;
};

void simulate(Sim &sim) {
    Vcore core;
    Delayed<Answer> fetches, loads;
    core.boot_addr_i = ROM;
    core.fetch_enable_i = 5;  // IbexMuBiOn
    core.scan_rst_ni = 1;
    core.instr_gnt_i = core.data_gnt_i = 1;
    auto clock = [&](bool high) { core.clk_i = high, core.eval(); };
    // Without a falling edge of the reset the core starts in user mode.
    core.rst_ni = 1, clock(0);
    core.rst_ni = 0;
    for (int i = 0; i < 4; i++) clock(1), clock(0);
    core.rst_ni = 1;
    for (; sim.running(); sim.tick()) {
        core.irq_external_i = sim.external;
        core.irq_timer_i = sim.timer();
        core.irq_software_i = sim.software();
        if ((core.instr_rvalid_i = fetches.ready(sim.cycle))) {
            Answer a = fetches.pop();
            core.instr_rdata_i = a.data, core.instr_err_i = a.error;
        }
        if ((core.data_rvalid_i = loads.ready(sim.cycle))) {
            Answer a = loads.pop();
            core.data_rdata_i = a.data, core.data_err_i = a.error;
        }
        clock(0);
        if (core.rvfi_valid) sim.retire(core.rvfi_pc_rdata, core.rvfi_trap);
        uint64_t due = sim.cycle + sim.latency;
        if (core.instr_req_o) {
            Answer a;
            a.error = !sim.read32(core.instr_addr_o, a.data);
            fetches.push(due, a);
        }
        if (core.data_req_o) {
            Answer a = {0, false};
            a.error = core.data_we_o ? !sim.write32(core.data_addr_o, core.data_wdata_o, core.data_be_o)
                                     : !sim.read32(core.data_addr_o, a.data);
            loads.push(due, a);
        }
        clock(1);
    }
}
