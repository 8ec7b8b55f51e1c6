// Cores with two ports of request, grant and a later answer, each in order.
#pragma once
#include "sim.h"

struct Answer {
    uint32_t data = 0;
    bool error = false;
};

template <typename Core> void clock(Core &core, bool high) { core.clk_i = high, core.eval(); }

// Without a falling edge of the reset Ibex starts in user mode.
template <typename Core> void reset(Core &core) {
    core.rst_ni = 1, clock(core, 0);
    core.rst_ni = 0;
    for (int i = 0; i < 4; i++) clock(core, 1), clock(core, 0);
    core.rst_ni = 1;
}

template <typename Core> struct Ports {
    Delayed<Answer> fetches, loads;

    void answer(Sim &sim, Core &core) {
        if ((core.instr_rvalid_i = fetches.ready(sim.cycle))) {
            Answer a = fetches.pop();
            core.instr_rdata_i = a.data, core.instr_err_i = a.error;
        }
        if ((core.data_rvalid_i = loads.ready(sim.cycle))) {
            Answer a = loads.pop();
            core.data_rdata_i = a.data, core.data_err_i = a.error;
        }
    }
    // Takes the requests of this cycle; `device` is true if it answered an access itself.
    template <typename Device> void request(Sim &sim, Core &core, Device device) {
        uint64_t due = sim.cycle + sim.latency;
        Answer a;
        if (core.instr_req_o) {
            a.error = !sim.read32(core.instr_addr_o, a.data);
            fetches.push(due, a);
        }
        if (core.data_req_o) {
            a = Answer();
            if (!device(a))
                a.error = core.data_we_o ? !sim.write32(core.data_addr_o, core.data_wdata_o, core.data_be_o)
                                         : !sim.read32(core.data_addr_o, a.data);
            loads.push(due, a);
        }
    }
};
