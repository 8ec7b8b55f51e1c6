--top-module ibex_top
-DRVFI
-CFLAGS -DRV32
+incdir+${RTL}/vendor/lowrisc_ip/ip/prim/rtl
+incdir+${RTL}/vendor/lowrisc_ip/dv/sv/dv_utils
-y ${RTL}/rtl
-y ${RTL}/vendor/lowrisc_ip/ip/prim/rtl
-y ${RTL}/vendor/lowrisc_ip/ip/prim_generic/rtl
-y ${RTL}/dv/uvm/core_ibex/common/prim
${RTL}/dv/uvm/core_ibex/common/prim/prim_pkg.sv
${RTL}/vendor/lowrisc_ip/ip/prim/rtl/prim_util_pkg.sv
${RTL}/vendor/lowrisc_ip/ip/prim/rtl/prim_ram_1p_pkg.sv
${RTL}/vendor/lowrisc_ip/ip/prim/rtl/prim_secded_pkg.sv
${RTL}/vendor/lowrisc_ip/ip/prim/rtl/prim_mubi_pkg.sv
${RTL}/vendor/lowrisc_ip/ip/prim/rtl/prim_cipher_pkg.sv
${RTL}/vendor/lowrisc_ip/ip/prim/rtl/prim_count_pkg.sv
${RTL}/rtl/ibex_pkg.sv
${RTL}/rtl/ibex_top.sv
