--top-module top
--noassert
-Wno-BLKANDNBLK
-Wno-UNOPTFLAT
-CFLAGS -DRV32
-DCOREV_ASSERT_OFF
+incdir+${RTL}/rtl/include
-y ${RTL}/rtl
${RTL}/rtl/include/cv32e40x_pkg.sv
${RTL}/rtl/if_c_obi.sv
${RTL}/rtl/if_xif.sv
${RTL}/bhv/cv32e40x_sim_clock_gate.sv
${HARNESS}/cv32e40x.sv
