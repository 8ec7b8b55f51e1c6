--top-module ExampleRocketSystem
-DSYNTHESIS
--noassert
-Wno-TIMESCALEMOD
${RTL}/generated-src/freechips.rocketchip.system.LitexFullConfig.v
${RTL}/generated-src/freechips.rocketchip.system.LitexFullConfig.behav_srams.v
${RTL}/vsrc/plusarg_reader.v
${RTL}/vsrc/EICG_wrapper.v
${RTL}/vsrc/AsyncResetReg.v
${HARNESS}/rocket.sv
