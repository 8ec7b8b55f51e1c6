--top-module VexRiscv
-CFLAGS -DRV32
${RTL}/VexRiscv_Linux.v
