// Reports what leaves Rocket's last stage.
module tap(input logic clock, input logic valid, input logic trapped, input logic [39:0] pc);
    import "DPI-C" function void retired(input longint unsigned pc, input byte unsigned trapped);
    always @(posedge clock) if (valid) retired(64'(pc), 8'(trapped));
endmodule

bind CSRFile tap tap(
    .clock(clock), .valid(io_trace_0_valid), .trapped(io_trace_0_exception), .pc(io_trace_0_iaddr));
