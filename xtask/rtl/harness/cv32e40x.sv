// CV32E40X without its extension interface, and what leaves its last stage.
`ifdef CLIC
`define SMCLIC 1
`else
`define SMCLIC 0
`endif
module top import cv32e40x_pkg::*; (
    input logic clk_i, rst_ni,
    output logic instr_req_o,
    output logic [31:0] instr_addr_o,
    input logic instr_rvalid_i,
    input logic [31:0] instr_rdata_i,
    input logic instr_err_i,
    output logic data_req_o,
    output logic [31:0] data_addr_o,
    output logic [3:0] data_be_o,
    output logic data_we_o,
    output logic [31:0] data_wdata_o,
    input logic data_rvalid_i,
    input logic [31:0] data_rdata_i,
    input logic data_err_i,
    input logic [31:0] irq_i,
    input logic clic_irq_i,
    input logic [4:0] clic_irq_id_i,
    input logic [7:0] clic_irq_level_i,
    input logic clic_irq_shv_i,
    output logic retired_o, trapped_o,
    output logic [31:0] pc_o
);
    if_xif xif();
    assign xif.compressed_ready = 0;
    assign xif.compressed_resp = '0;
    assign xif.issue_ready = 0;
    assign xif.issue_resp = '0;
    assign xif.mem_valid = 0;
    assign xif.mem_req = '0;
    assign xif.result_valid = 0;
    assign xif.result = '0;
    cv32e40x_core #(.SMCLIC(`SMCLIC)) core (
        .clk_i, .rst_ni, .scan_cg_en_i(1'b0), .boot_addr_i(32'h1000_0000), .dm_exception_addr_i('0),
        .dm_halt_addr_i('0), .mhartid_i('0), .mimpid_patch_i('0), .mtvec_addr_i(32'h8000_0000), .instr_req_o,
        .instr_gnt_i(1'b1), .instr_rvalid_i, .instr_addr_o, .instr_memtype_o(), .instr_prot_o(), .instr_dbg_o(),
        .instr_rdata_i, .instr_err_i, .data_req_o, .data_gnt_i(1'b1), .data_rvalid_i, .data_addr_o, .data_be_o,
        .data_we_o, .data_wdata_o, .data_memtype_o(), .data_prot_o(), .data_dbg_o(), .data_atop_o(), .data_rdata_i,
        .data_err_i, .data_exokay_i(1'b0), .mcycle_o(), .xif_compressed_if(xif), .xif_issue_if(xif),
        .xif_commit_if(xif), .xif_mem_if(xif), .xif_mem_result_if(xif), .xif_result_if(xif), .irq_i,
        .wu_wfe_i(1'b0), .clic_irq_i, .clic_irq_id_i, .clic_irq_level_i, .clic_irq_priv_i(2'b11), .clic_irq_shv_i,
        .fencei_flush_req_o(fence), .fencei_flush_ack_i(fence), .debug_req_i(1'b0), .debug_havereset_o(),
        .debug_running_o(), .debug_halted_o(), .fetch_enable_i(1'b1), .core_sleep_o());
    logic fence;
    // A misaligned access leaves in two parts.
    assign trapped_o = core.wb_valid && core.controller_i.controller_fsm_i.exception_in_wb;
    assign retired_o = core.wb_valid && core.last_op_wb && !core.ex_wb_pipe.instr_meta.clic_ptr;
    assign pc_o = core.ex_wb_pipe.pc;
endmodule
