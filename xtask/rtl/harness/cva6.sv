// CVA6 with its AXI port as single signals, and a report of what it commits.
module top(
    input logic clk, rst_n, external, timer, software,
    input logic [63:0] boot,
    output logic ar_valid, aw_valid, w_valid, r_ready, b_ready,
    output logic [3:0] ar_id, aw_id,
    output logic [63:0] ar_address, aw_address, w_data,
    output logic [7:0] ar_length, aw_length, w_strobe,
    output logic [2:0] ar_size, aw_size,
    output logic [1:0] ar_burst, aw_burst,
    output logic ar_exclusive, aw_exclusive,
    output logic [5:0] aw_atomic,
    input logic aw_ready, w_ready, r_valid, b_valid, r_last,
    input logic [3:0] r_id, b_id,
    input logic [63:0] r_data,
    input logic [1:0] r_answer, b_answer);

    ariane_axi::req_t request;
    ariane_axi::resp_t answer;

    // The coprocessor port refuses whatever is offered to it: an illegal instruction.
    cvxif_pkg::cvxif_resp_t coprocessor;
    always_comb begin
        coprocessor = '0;
        coprocessor.x_compressed_ready = 1'b1;
        coprocessor.x_issue_ready = 1'b1;
    end

    assign {ar_valid, aw_valid, w_valid} = {request.ar_valid, request.aw_valid, request.w_valid};
    assign {r_ready, b_ready} = {request.r_ready, request.b_ready};
    assign {ar_id, ar_address, ar_length} = {request.ar.id, request.ar.addr, request.ar.len};
    assign {ar_size, ar_burst, ar_exclusive} = {request.ar.size, request.ar.burst, request.ar.lock};
    assign {aw_id, aw_address, aw_length} = {request.aw.id, request.aw.addr, request.aw.len};
    assign {aw_size, aw_burst, aw_exclusive} = {request.aw.size, request.aw.burst, request.aw.lock};
    assign {aw_atomic, w_data, w_strobe} = {request.aw.atop, request.w.data, request.w.strb};
    always_comb begin
        answer = '0;
        answer.ar_ready = 1'b1;
        answer.aw_ready = aw_ready;
        answer.w_ready = w_ready;
        answer.r_valid = r_valid;
        answer.r.id = r_id;
        answer.r.data = r_data;
        answer.r.last = r_last;
        answer.r.resp = r_answer;
        answer.b_valid = b_valid;
        answer.b.id = b_id;
        answer.b.resp = b_answer;
    end

    cva6 core(
        .clk_i(clk), .rst_ni(rst_n), .boot_addr_i(boot[riscv::VLEN-1:0]), .hart_id_i('0),
        .irq_i({1'b0, external}), .ipi_i(software), .time_irq_i(timer), .debug_req_i(1'b0),
        .cvxif_req_o(), .cvxif_resp_i(coprocessor), .axi_req_o(request), .axi_resp_i(answer));
endmodule

module tap(
    input logic clk, input logic [1:0] commits, input logic traps,
    input logic [63:0] pc0, input logic [63:0] pc1);
    import "DPI-C" function void retired(input longint unsigned pc, input byte unsigned trapped);
    always @(posedge clk) begin
        if (traps) retired(pc0, 8'd1);
        if (commits[0] && !traps) retired(pc0, 8'd0);
        if (commits[1] && !traps) retired(pc1, 8'd0);
    end
endmodule

bind cva6 tap tap(
    .clk(clk_i), .commits(commit_ack), .traps(ex_commit.valid),
    .pc0(64'(commit_instr_id_commit[0].pc)), .pc1(64'(commit_instr_id_commit[1].pc)));

// The package does not have the divider of the FPU: it never answers.
module div_sqrt_top_mvp(
    input logic Clk_CI, Rst_RBI, Div_start_SI, Sqrt_start_SI,
    input logic [63:0] Operand_a_DI, Operand_b_DI,
    input logic [2:0] RM_SI,
    input logic [5:0] Precision_ctl_SI,
    input logic [1:0] Format_sel_SI,
    input logic Kill_SI,
    output logic [63:0] Result_DO,
    output logic [4:0] Fflags_SO,
    output logic Ready_SO, Done_SO);
    assign {Result_DO, Fflags_SO, Ready_SO, Done_SO} = '0;
endmodule
