// Reports what leaves Rocket's last stage, and when the interrupt controller raises an interrupt.
module tap(input logic clock, input logic valid, input logic trapped, input logic [39:0] pc, input logic line);
    import "DPI-C" function void retired(input longint unsigned pc, input byte unsigned trapped);
    import "DPI-C" function void raised();
    logic was = 0;
    always @(posedge clock) begin
        if (valid) retired(64'(pc), 8'(trapped));
        if (line && !was) raised();
        was <= line;
    end
endmodule

bind CSRFile tap tap(
    .clock(clock), .valid(io_trace_0_valid), .trapped(io_trace_0_exception), .pc(io_trace_0_iaddr),
    .line(io_interrupts_meip));
