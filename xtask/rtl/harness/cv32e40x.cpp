// CV32E40X.
#include "Vcore.h"
#include "ports.h"

#ifdef CLIC
// The interrupts 3, 7 and 11 are the lines that other cores have: enabled, vectored, and of a level. There are four bytes for
// each: pending, enabled, attributes, level.
struct Clic {
    static constexpr uint64_t BASE = 0x04000000, SOURCES = 0x1000;
    bool lines[12] = {};
    uint8_t bytes[12][4] = {};

    uint8_t *at(uint64_t address) {
        uint64_t number = (address - BASE - SOURCES) / 4;
        return number < 12 && number % 4 == 3 ? bytes[number] : nullptr;
    }
    uint32_t read(uint64_t address) {
        uint8_t *source = at(address);
        if (!source) return 0;
        uint32_t attributes = 0xc0 | (source[2] & 1);
        return lines[(address - BASE - SOURCES) / 4] | source[1] << 8 | attributes << 16 | (uint32_t)source[3] << 24;
    }
    void write(uint64_t address, uint32_t data, uint8_t strobe) {
        uint8_t *source = at(address);
        for (int i = 1; source && i < 4; i++)
            if (strobe >> i & 1) source[i] = data >> 8 * i & (i == 3 ? 0xff : 1);
    }
    // The number of the pending and enabled source of the highest level, or 0.
    int first() {
        int best = 0;
        for (int i = 3; i < 12; i += 4)
            if (lines[i] && bytes[i][1] && (!best || bytes[i][3] >= bytes[best][3])) best = i;
        return best;
    }
};
#endif

void simulate(Sim &sim) {
    Vcore core;
    Ports<Vcore> ports;
#ifdef CLIC
    Clic clic;
#endif
    reset(core);
    for (; sim.running(); sim.tick()) {
#ifdef CLIC
        clic.lines[3] = sim.software(), clic.lines[7] = sim.timer(), clic.lines[11] = sim.external;
        int first = clic.first();
        core.clic_irq_i = first != 0;
        core.clic_irq_id_i = first;
        core.clic_irq_level_i = clic.bytes[first][3];
        core.clic_irq_shv_i = clic.bytes[first][2] & 1;
#else
        core.irq_i = sim.external << 11 | sim.timer() << 7 | sim.software() << 3;
#endif
        ports.answer(sim, core);
        clock(core, 0);
        if (core.trapped_o || core.retired_o) sim.retire(core.pc_o, core.trapped_o);
        ports.request(sim, core, [&](Answer &a) {
#ifdef CLIC
            if (core.data_addr_o - Clic::BASE >= 0x2000) return false;
            if (core.data_we_o) clic.write(core.data_addr_o & ~3u, core.data_wdata_o, core.data_be_o);
            else a.data = clic.read(core.data_addr_o & ~3u);
            return true;
#else
            return (void)a, false;
#endif
        });
        clock(core, 1);
    }
}
