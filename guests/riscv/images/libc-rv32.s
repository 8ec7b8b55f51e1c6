	.file	"libc.c"
	.option nopic
	.attribute arch, "rv32i2p1"
	.attribute unaligned_access, 0
	.attribute stack_align, 16
	.text
	.align	2
	.type	put_text, @function
put_text:
	bne	a4,zero,.L35
	li	t4,32
	li	a6,268435456
	bgt	a3,a2,.L5
	j	.L36
.L6:
	lw	t1,8(a0)
	lw	t3,4(a0)
	addi	a5,t1,1
	bgeu	a5,t3,.L8
	add	a7,a7,t1
	sb	t4,0(a7)
	lw	a5,8(a0)
	addi	a5,a5,1
.L8:
	sw	a5,8(a0)
	addi	a3,a3,-1
	beq	a2,a3,.L37
.L5:
	lw	a7,0(a0)
	bne	a7,zero,.L6
.L7:
	lbu	a5,5(a6)
	andi	a5,a5,32
	beq	a5,zero,.L7
	sb	t4,0(a6)
	lw	a5,8(a0)
	addi	a3,a3,-1
	addi	a5,a5,1
	sw	a5,8(a0)
	bne	a2,a3,.L5
.L37:
	ble	a2,zero,.L1
.L3:
	li	a6,0
	li	a7,268435456
	j	.L13
.L10:
	lw	t3,8(a0)
	lw	t5,4(a0)
	addi	a5,t3,1
	bgeu	a5,t5,.L12
	add	t1,t1,t3
	sb	t4,0(t1)
	lw	a5,8(a0)
	addi	a5,a5,1
.L12:
	sw	a5,8(a0)
	addi	a6,a6,1
	ble	a2,a6,.L38
.L13:
	lw	t1,0(a0)
	add	a5,a1,a6
	lbu	t4,0(a5)
	bne	t1,zero,.L10
.L11:
	lbu	a5,5(a7)
	andi	a5,a5,32
	beq	a5,zero,.L11
	sb	t4,0(a7)
	lw	a5,8(a0)
	addi	a6,a6,1
	addi	a5,a5,1
	sw	a5,8(a0)
	bgt	a2,a6,.L13
.L38:
	beq	a4,zero,.L1
.L4:
	bge	a2,a3,.L1
	li	t3,32
	li	a1,268435456
	j	.L17
.L14:
	lw	a7,8(a0)
	lw	t1,4(a0)
	addi	a5,a7,1
	bgeu	a5,t1,.L16
	add	a6,a6,a7
	sb	t3,0(a6)
	lw	a5,8(a0)
	addi	a5,a5,1
.L16:
	sw	a5,8(a0)
	addi	a3,a3,-1
	beq	a4,zero,.L1
.L39:
	beq	a2,a3,.L1
.L17:
	lw	a6,0(a0)
	bne	a6,zero,.L14
.L15:
	lbu	a5,5(a1)
	andi	a5,a5,32
	beq	a5,zero,.L15
	sb	t3,0(a1)
	lw	a5,8(a0)
	addi	a3,a3,-1
	addi	a5,a5,1
	sw	a5,8(a0)
	bne	a4,zero,.L39
.L1:
	ret
.L35:
	bgt	a2,zero,.L3
	j	.L4
.L36:
	bgt	a2,zero,.L3
	ret
	.size	put_text, .-put_text
	.section	.rodata.str1.4,"aMS",@progbits,1
	.align	2
.LC0:
	.string	"0123456789abcdef"
	.align	2
.LC1:
	.string	"0123456789ABCDEF"
	.text
	.align	2
	.type	put_number, @function
put_number:
	addi	sp,sp,-192
	sw	s0,188(sp)
	sw	s1,184(sp)
	sw	s2,180(sp)
	li	a6,111
	beq	a5,a6,.L104
	bleu	a5,a6,.L146
	andi	a6,a5,247
	li	a7,112
	beq	a6,a7,.L147
.L45:
	lla	t6,.LANCHOR0
	mv	a7,a2
	mv	a6,a3
	li	t2,0
	li	t0,0
	lla	s1,.LC0
	li	s0,20
	li	s2,19
.L46:
	lw	t1,4(t6)
	lw	t5,0(t6)
	bgtu	t1,a6,.L54
.L149:
	beq	t1,a6,.L148
.L109:
	li	t4,0
.L135:
	sub	t3,a7,t5
	sgtu	a7,t3,a7
	sub	a6,a6,t1
	sub	a6,a6,a7
	addi	t4,t4,1
	mv	a7,t3
	bgtu	t1,a6,.L49
	bne	t1,a6,.L135
	bleu	t5,t3,.L135
.L49:
	add	t4,t4,s1
	lbu	t3,0(t4)
	addi	t1,t2,176
	add	t1,t1,sp
	sb	t3,-168(t1)
	addi	t0,t0,1
	addi	t1,t2,1
	addi	t6,t6,8
	beq	t0,s0,.L52
	mv	t2,t1
	lw	t1,4(t6)
	lw	t5,0(t6)
	bleu	t1,a6,.L149
.L54:
	bne	t2,zero,.L108
.L151:
	beq	t0,s2,.L50
	addi	t0,t0,1
	addi	t6,t6,8
	j	.L46
.L146:
	li	a6,88
	beq	a5,a6,.L150
	li	a6,98
	bne	a5,a6,.L45
	li	t6,1
	li	a7,63
	li	s0,1
	lla	t5,.LC0
	j	.L41
.L148:
	bleu	t5,a7,.L109
	beq	t2,zero,.L151
.L108:
	li	t4,0
	j	.L49
.L50:
	li	a6,48
	sb	a6,8(sp)
	li	t1,1
.L52:
	li	s0,0
.L55:
	lw	a7,24(a1)
	bne	a7,zero,.L61
	or	a6,a2,a3
	snez	a6,a6
	neg	a6,a6
	and	t1,t1,a6
.L61:
	bne	a4,zero,.L111
	lw	a4,8(a1)
	beq	a4,zero,.L63
	li	a4,43
.L62:
	sb	a4,80(sp)
	li	t0,1
.L64:
	li	a4,112
	beq	a5,a4,.L152
	lw	a4,16(a1)
	beq	a4,zero,.L67
	or	a2,a2,a3
	beq	a2,zero,.L68
	li	a4,4
	bne	s0,a4,.L68
	li	a3,88
	addi	a4,t0,1
	beq	a5,a3,.L66
	li	a5,120
	j	.L66
.L68:
	li	a5,3
	beq	s0,a5,.L153
.L67:
	li	a2,0
	ble	a7,t1,.L70
	sub	a2,a7,t1
.L70:
	lw	a5,4(a1)
	lw	a3,0(a1)
	beq	a5,zero,.L71
	beq	a3,zero,.L154
	add	a4,t0,a2
	add	a4,a4,t1
.L74:
	addi	a3,sp,80
	add	t6,t0,a3
	li	a6,268435456
	bne	t0,zero,.L86
	j	.L87
.L83:
	lw	t3,8(a0)
	lw	t5,4(a0)
	addi	a5,t3,1
	bgeu	a5,t5,.L85
	add	a7,a7,t3
	sb	t4,0(a7)
	lw	a5,8(a0)
	addi	a5,a5,1
.L85:
	sw	a5,8(a0)
	addi	a3,a3,1
	beq	t6,a3,.L87
.L86:
	lw	a7,0(a0)
	lbu	t4,0(a3)
	bne	a7,zero,.L83
.L84:
	lbu	a5,5(a6)
	andi	a5,a5,32
	beq	a5,zero,.L84
	sb	t4,0(a6)
	lw	a5,8(a0)
	addi	a3,a3,1
	addi	a5,a5,1
	sw	a5,8(a0)
	bne	t6,a3,.L86
.L87:
	li	t4,48
	li	a3,268435456
	bgt	a2,zero,.L81
	j	.L82
.L90:
	lw	a7,8(a0)
	lw	t3,4(a0)
	addi	a5,a7,1
	bgeu	a5,t3,.L92
	add	a6,a6,a7
	sb	t4,0(a6)
	lw	a5,8(a0)
	addi	a5,a5,1
.L92:
	sw	a5,8(a0)
	addi	a2,a2,-1
	beq	a2,zero,.L82
.L81:
	lw	a6,0(a0)
	bne	a6,zero,.L90
.L91:
	lbu	a5,5(a3)
	andi	a5,a5,32
	beq	a5,zero,.L91
	sb	t4,0(a3)
	lw	a5,8(a0)
	addi	a2,a2,-1
	addi	a5,a5,1
	sw	a5,8(a0)
	bne	a2,zero,.L81
.L82:
	addi	a3,sp,8
	add	t4,t1,a3
	li	a2,268435456
	bne	t1,zero,.L98
	j	.L89
.L95:
	lw	a7,8(a0)
	lw	t3,4(a0)
	addi	a5,a7,1
	bgeu	a5,t3,.L97
	add	a6,a6,a7
	sb	t1,0(a6)
	lw	a5,8(a0)
	addi	a5,a5,1
.L97:
	sw	a5,8(a0)
	addi	a3,a3,1
	beq	a3,t4,.L89
.L98:
	lw	a6,0(a0)
	lbu	t1,0(a3)
	bne	a6,zero,.L95
.L96:
	lbu	a5,5(a2)
	andi	a5,a5,32
	beq	a5,zero,.L96
	sb	t1,0(a2)
	lw	a5,8(a0)
	addi	a3,a3,1
	addi	a5,a5,1
	sw	a5,8(a0)
	bne	a3,t4,.L98
.L89:
	lw	a3,0(a1)
	lw	a2,20(a1)
	beq	a3,zero,.L40
	ble	a2,a4,.L40
	li	t4,32
	li	a6,268435456
	j	.L102
.L99:
	lw	t1,8(a0)
	lw	t3,4(a0)
	addi	a5,t1,1
	bgeu	a5,t3,.L101
	add	a7,a7,t1
	sb	t4,0(a7)
	lw	a5,8(a0)
	lw	a3,0(a1)
	addi	a5,a5,1
.L101:
	sw	a5,8(a0)
	addi	a2,a2,-1
	beq	a3,zero,.L40
.L155:
	beq	a2,a4,.L40
.L102:
	lw	a7,0(a0)
	bne	a7,zero,.L99
.L100:
	lbu	a5,5(a6)
	andi	a5,a5,32
	beq	a5,zero,.L100
	sb	t4,0(a6)
	lw	a5,8(a0)
	lw	a3,0(a1)
	addi	a2,a2,-1
	addi	a5,a5,1
	sw	a5,8(a0)
	bne	a3,zero,.L155
.L40:
	lw	s0,188(sp)
	lw	s1,184(sp)
	lw	s2,180(sp)
	addi	sp,sp,192
	jr	ra
.L71:
	add	a4,t0,a2
	lw	a6,20(a1)
	add	a4,a4,t1
	bne	a3,zero,.L74
.L103:
	bge	a4,a6,.L74
	li	t6,32
	li	a7,268435456
	j	.L79
.L76:
	lw	t4,8(a0)
	lw	t5,4(a0)
	addi	a5,t4,1
	bgeu	a5,t5,.L78
	add	t3,t3,t4
	sb	t6,0(t3)
	lw	a5,8(a0)
	lw	a3,0(a1)
	addi	a5,a5,1
.L78:
	sw	a5,8(a0)
	addi	a6,a6,-1
	bne	a3,zero,.L74
	beq	a6,a4,.L74
.L79:
	lw	t3,0(a0)
	bne	t3,zero,.L76
.L77:
	lbu	a5,5(a7)
	andi	a5,a5,32
	beq	a5,zero,.L77
	sb	t6,0(a7)
	lw	a5,8(a0)
	lw	a3,0(a1)
	addi	a5,a5,1
	j	.L78
.L111:
	li	a4,45
	j	.L62
.L150:
	li	t6,15
	li	s0,4
	li	a7,60
	lla	t5,.LC1
.L41:
	li	t1,0
	slli	t2,a3,1
	li	t0,31
.L60:
	sub	t3,t0,a7
	srl	a6,a2,a7
	sll	t3,t2,t3
	addi	t4,a7,-32
	or	a6,t3,a6
	blt	t4,zero,.L57
	srl	a6,a3,t4
.L57:
	and	a6,t6,a6
	add	t4,t5,a6
	addi	t3,t1,176
	or	a6,t1,a6
	add	t3,t3,sp
	bne	a6,zero,.L58
	bne	a7,zero,.L110
	lbu	a6,0(t5)
	li	t1,1
	sb	a6,8(sp)
	j	.L55
.L58:
	lbu	a6,0(t4)
	addi	t1,t1,1
	sb	a6,-168(t3)
.L59:
	sub	a7,a7,s0
	bge	a7,zero,.L60
	j	.L55
.L110:
	li	t1,0
	j	.L59
.L152:
	addi	a4,t0,1
	li	a5,120
.L66:
	addi	a3,t0,176
	add	a3,a3,sp
	li	a2,48
	addi	a4,a4,176
	sb	a2,-96(a3)
	add	a4,a4,sp
	addi	t0,t0,2
	sb	a5,-96(a4)
	j	.L67
.L104:
	li	t6,7
	li	s0,3
	li	a7,63
	lla	t5,.LC0
	j	.L41
.L63:
	lw	t0,12(a1)
	beq	t0,zero,.L64
	li	a4,32
	j	.L62
.L154:
	lw	a6,20(a1)
	blt	a7,zero,.L156
.L73:
	add	a4,t0,a2
	add	a4,a4,t1
	j	.L103
.L147:
	li	t6,15
	li	a7,60
	li	s0,4
	lla	t5,.LC0
	j	.L41
.L153:
	addi	a5,t0,176
	add	a5,a5,sp
	li	a4,48
	sb	a4,-96(a5)
	addi	t0,t0,1
	j	.L67
.L156:
	add	a5,t1,t0
	bge	a5,a6,.L73
	sub	a2,a6,t0
	sub	a2,a2,t1
	j	.L73
	.size	put_number, .-put_number
	.section	.rodata.str1.4
	.align	2
.LC2:
	.string	"(null)"
	.align	2
.LC3:
	.string	"(no floats)"
	.text
	.align	2
	.type	format_into, @function
format_into:
	lbu	a4,0(a1)
	beq	a4,zero,.L269
	addi	sp,sp,-80
	sw	s0,72(sp)
	sw	s1,68(sp)
	sw	s2,64(sp)
	sw	s3,60(sp)
	sw	s4,56(sp)
	sw	s5,52(sp)
	sw	s6,48(sp)
	sw	ra,76(sp)
	mv	s0,a1
	mv	s6,a0
	mv	s4,a2
	li	s1,48
	li	s2,43
	li	s3,32
	li	s5,1
.L158:
	li	a5,37
	beq	a4,a5,.L160
	lw	a3,0(s6)
	beq	a3,zero,.L274
	lw	a2,8(s6)
	lw	a1,4(s6)
	addi	a5,a2,1
	bgeu	a5,a1,.L163
	add	a3,a3,a2
.L272:
	sb	a4,0(a3)
	lw	a5,8(s6)
	addi	a5,a5,1
.L163:
	sw	a5,8(s6)
.L164:
	lbu	a4,1(s0)
	addi	s0,s0,1
	bne	a4,zero,.L158
.L157:
	lw	ra,76(sp)
	lw	s0,72(sp)
	lw	s1,68(sp)
	lw	s2,64(sp)
	lw	s3,60(sp)
	lw	s4,56(sp)
	lw	s5,52(sp)
	lw	s6,48(sp)
	addi	sp,sp,80
	jr	ra
.L160:
	li	a5,-1
	addi	s0,s0,1
	sw	a5,40(sp)
	lbu	a5,0(s0)
	sw	zero,16(sp)
	sw	zero,20(sp)
	sw	zero,24(sp)
	sw	zero,28(sp)
	sw	zero,32(sp)
	sw	zero,36(sp)
	sw	zero,44(sp)
	li	a4,45
	li	a0,0
	li	a7,0
	li	a6,0
	li	a2,0
	li	a3,0
	li	a1,35
	beq	a5,a4,.L224
.L275:
	beq	a5,s1,.L225
	beq	a5,s2,.L226
	beq	a5,s3,.L227
	bne	a5,a1,.L166
	li	a0,1
	addi	s0,s0,1
.L276:
	lbu	a5,0(s0)
	bne	a5,a4,.L275
.L224:
	li	a3,1
	addi	s0,s0,1
	j	.L276
.L225:
	li	a2,1
	addi	s0,s0,1
	j	.L276
.L226:
	li	a6,1
	addi	s0,s0,1
	j	.L276
.L227:
	li	a7,1
	addi	s0,s0,1
	j	.L276
.L166:
	beq	a0,zero,.L168
	sw	s5,32(sp)
.L168:
	beq	a7,zero,.L169
	sw	s5,28(sp)
.L169:
	beq	a6,zero,.L170
	sw	s5,24(sp)
.L170:
	beq	a2,zero,.L171
	li	a4,1
	sw	a4,20(sp)
.L171:
	beq	a3,zero,.L172
	li	a4,1
	sw	a4,16(sp)
.L172:
	li	a4,42
	beq	a5,a4,.L173
	addi	a3,a5,-48
	andi	a0,a3,0xff
	li	a4,9
	li	a1,0
	li	a2,9
	bgtu	a0,a4,.L175
.L174:
	lbu	a5,1(s0)
	slli	a4,a1,2
	add	a4,a4,a1
	slli	a4,a4,1
	add	a1,a4,a3
	addi	a3,a5,-48
	andi	a4,a3,0xff
	addi	s0,s0,1
	bleu	a4,a2,.L174
	sw	a1,36(sp)
.L176:
	bge	a1,zero,.L175
	neg	a1,a1
	sw	s5,16(sp)
	sw	a1,36(sp)
.L175:
	li	a4,46
	beq	a5,a4,.L277
.L179:
	li	a3,108
	li	a1,0
	li	a4,0
	li	a6,106
	li	a7,122
	li	a2,116
	li	a0,104
	beq	a5,a3,.L278
.L183:
	beq	a5,a6,.L230
	beq	a5,a7,.L232
	beq	a5,a2,.L232
	bne	a5,a0,.L185
	addi	a4,a4,-1
.L184:
	lbu	a5,1(s0)
	addi	s0,s0,1
	li	a1,1
	bne	a5,a3,.L183
.L278:
	addi	a4,a4,1
	j	.L184
.L232:
	li	a4,1
	j	.L184
.L230:
	li	a4,2
	j	.L184
.L185:
	beq	a1,zero,.L186
	sw	a4,44(sp)
.L186:
	beq	a5,zero,.L157
	addi	a4,a5,-88
	andi	a4,a4,0xff
	bgtu	a4,s3,.L188
	lla	a3,.L190
	slli	a4,a4,2
	add	a4,a4,a3
	lw	a4,0(a4)
	add	a4,a4,a3
	jr	a4
	.section	.rodata
	.align	2
	.align	2
.L190:
	.word	.L189-.L190
	.word	.L188-.L190
	.word	.L188-.L190
	.word	.L188-.L190
	.word	.L188-.L190
	.word	.L188-.L190
	.word	.L188-.L190
	.word	.L188-.L190
	.word	.L188-.L190
	.word	.L188-.L190
	.word	.L189-.L190
	.word	.L194-.L190
	.word	.L192-.L190
	.word	.L193-.L190
	.word	.L193-.L190
	.word	.L193-.L190
	.word	.L188-.L190
	.word	.L192-.L190
	.word	.L188-.L190
	.word	.L188-.L190
	.word	.L188-.L190
	.word	.L188-.L190
	.word	.L188-.L190
	.word	.L189-.L190
	.word	.L189-.L190
	.word	.L188-.L190
	.word	.L188-.L190
	.word	.L191-.L190
	.word	.L188-.L190
	.word	.L189-.L190
	.word	.L188-.L190
	.word	.L188-.L190
	.word	.L189-.L190
	.text
.L188:
	li	a3,37
	lw	a4,0(s6)
	bne	a5,a3,.L279
	beq	a4,zero,.L267
.L286:
	lw	a1,4(s6)
.L220:
	lw	a2,8(s6)
	addi	a3,a2,1
	bgeu	a3,a1,.L222
	add	a4,a4,a2
	sb	a5,0(a4)
	lw	a3,8(s6)
	addi	a3,a3,1
.L222:
	sw	a3,8(s6)
	j	.L164
.L189:
	li	a3,112
	lw	a4,0(s4)
	beq	a5,a3,.L280
	lw	a5,44(sp)
	li	a3,1
	ble	a5,a3,.L206
	addi	a5,a4,7
	andi	a5,a5,-8
	addi	a4,a5,8
	lw	a2,0(a5)
	lw	a3,4(a5)
	sw	a4,0(s4)
.L207:
	lbu	a5,0(s0)
	li	a4,0
	addi	a1,sp,16
	mv	a0,s6
	sw	zero,28(sp)
	sw	zero,24(sp)
	call	put_number
	j	.L164
.L193:
	lw	a5,0(s4)
	lw	a4,16(sp)
	lw	a3,36(sp)
	addi	a5,a5,7
	andi	a5,a5,-8
	addi	a5,a5,8
	sw	a5,0(s4)
	li	a2,11
	lla	a1,.LC3
	mv	a0,s6
	call	put_text
	j	.L164
.L192:
	lw	a4,44(sp)
	li	a3,1
	lw	a5,0(s4)
	ble	a4,a3,.L195
	addi	a5,a5,7
	andi	a5,a5,-8
	addi	a3,a5,8
	lw	a2,0(a5)
	lw	a4,4(a5)
	sw	a3,0(s4)
.L196:
	mv	a3,a4
	bge	a4,zero,.L201
	snez	a5,a2
	neg	a3,a4
	sub	a3,a3,a5
	neg	a2,a2
.L201:
	li	a5,100
	srli	a4,a4,31
	addi	a1,sp,16
	mv	a0,s6
	call	put_number
	j	.L164
.L194:
	lw	a5,0(s4)
	lw	a4,16(sp)
	lw	a3,36(sp)
	lw	a6,0(a5)
	addi	a5,a5,4
	sw	a5,0(s4)
	li	a2,1
	addi	a1,sp,15
	mv	a0,s6
	sb	a6,15(sp)
	call	put_text
	j	.L164
.L191:
	lw	a5,0(s4)
	addi	a4,a5,4
	sw	a4,0(s4)
	lw	a1,0(a5)
	beq	a1,zero,.L281
	lw	a4,40(sp)
	li	a2,0
.L212:
	beq	a4,a2,.L213
.L282:
	add	a5,a1,a2
	lbu	a5,0(a5)
	beq	a5,zero,.L213
	addi	a2,a2,1
	bne	a4,a2,.L282
.L213:
	lw	a4,16(sp)
	lw	a3,36(sp)
	mv	a0,s6
	call	put_text
	j	.L164
.L274:
	li	a3,268435456
.L162:
	lbu	a5,5(a3)
	andi	a5,a5,32
	beq	a5,zero,.L162
	j	.L272
.L173:
	lw	a5,0(s4)
	addi	s0,s0,1
	lw	a1,0(a5)
	addi	a5,a5,4
	sw	a5,0(s4)
	lbu	a5,0(s0)
	sw	a1,36(sp)
	j	.L176
.L277:
	lbu	a5,1(s0)
	li	a4,42
	addi	a2,s0,1
	beq	a5,a4,.L283
	addi	a3,a5,-48
	sw	zero,40(sp)
	andi	a1,a3,0xff
	li	a4,9
	bgtu	a1,a4,.L229
	li	a1,0
	li	a0,9
.L182:
	lbu	a5,1(a2)
	slli	a4,a1,2
	add	a4,a4,a1
	slli	a4,a4,1
	add	a1,a4,a3
	addi	a3,a5,-48
	andi	a4,a3,0xff
	addi	a2,a2,1
	bleu	a4,a0,.L182
	sw	a1,40(sp)
	mv	s0,a2
	j	.L179
.L279:
	beq	a4,zero,.L284
	lw	a5,8(s6)
	lw	a1,4(s6)
	addi	a2,a5,1
	bltu	a2,a1,.L219
	sw	a2,8(s6)
	lbu	a5,0(s0)
	j	.L220
.L195:
	addi	a3,a5,4
	beq	a4,zero,.L197
	sw	a3,0(s4)
	li	a3,-1
	lw	a2,0(a5)
	bne	a4,a3,.L285
	slli	a2,a2,16
	srai	a2,a2,16
	srai	a4,a2,31
	j	.L196
.L280:
	li	a5,1
	sw	a5,44(sp)
	addi	a1,a4,4
.L205:
	lw	a2,0(a4)
	li	a3,0
	sw	a1,0(s4)
	j	.L207
.L281:
	lw	a4,40(sp)
	lla	a1,.LC2
	li	a2,0
	j	.L212
.L197:
	lw	a2,0(a5)
	sw	a3,0(s4)
	srai	a4,a2,31
	j	.L196
.L284:
	li	a4,268435456
.L217:
	lbu	a5,5(a4)
	andi	a5,a5,32
	beq	a5,zero,.L217
	li	a5,37
	sb	a5,0(a4)
	lw	a5,8(s6)
	lw	a4,0(s6)
	addi	a5,a5,1
.L218:
	sw	a5,8(s6)
	lbu	a5,0(s0)
	bne	a4,zero,.L286
.L267:
	li	a3,268435456
.L221:
	lbu	a4,5(a3)
	andi	a4,a4,32
	beq	a4,zero,.L221
	sb	a5,0(a3)
	lw	a3,8(s6)
	addi	a3,a3,1
	sw	a3,8(s6)
	j	.L164
.L285:
	li	a5,-2
	bne	a4,a5,.L273
	slli	a2,a2,24
	srai	a2,a2,24
.L273:
	srai	a4,a2,31
	j	.L196
.L283:
	lw	a5,0(s4)
	addi	s0,s0,2
	lw	a4,0(a5)
	addi	a5,a5,4
	sw	a5,0(s4)
	lbu	a5,0(s0)
	sw	a4,40(sp)
	j	.L179
.L206:
	addi	a1,a4,4
	beq	a5,a3,.L205
	sw	a1,0(s4)
	li	a3,-1
	lw	a4,0(a4)
	beq	a5,a3,.L287
	li	a1,-2
	andi	a2,a4,255
	li	a3,0
	beq	a5,a1,.L207
	mv	a2,a4
	j	.L207
.L287:
	slli	a2,a4,16
	srli	a2,a2,16
	li	a3,0
	j	.L207
.L219:
	add	a4,a4,a5
	sb	a3,0(a4)
	lw	a5,8(s6)
	lw	a4,0(s6)
	addi	a5,a5,1
	j	.L218
.L229:
	mv	s0,a2
	j	.L179
.L269:
	ret
	.size	format_into, .-format_into
	.align	2
	.globl	answer_ecall
	.type	answer_ecall, @function
answer_ecall:
	li	a4,172
	beq	a3,a4,.L296
	bgt	a3,a4,.L290
	li	a4,64
	bne	a3,a4,.L307
	addi	a5,a0,-1
	li	a4,1
	bgtu	a5,a4,.L299
	add	a0,a2,a1
	li	a4,268435456
	ble	a2,zero,.L295
.L294:
	lbu	a3,0(a1)
.L293:
	lbu	a5,5(a4)
	andi	a5,a5,32
	beq	a5,zero,.L293
	sb	a3,0(a4)
	addi	a1,a1,1
	bne	a1,a0,.L294
.L295:
	mv	a0,a2
	ret
.L290:
	li	a5,174
	li	a0,0
	bne	a3,a5,.L297
	ret
.L297:
	li	a0,-38
	ret
.L307:
	addi	a3,a3,-93
	li	a5,1
	bgtu	a3,a5,.L297
	addi	sp,sp,-16
	sw	ra,12(sp)
	call	_exit
.L296:
	li	a0,1
	ret
.L299:
	li	a0,-9
	ret
	.size	answer_ecall, .-answer_ecall
	.align	2
	.weak	syscall
	.type	syscall, @function
syscall:
	addi	sp,sp,-48
	mv	t1,a0
	sw	a5,36(sp)
	addi	a5,sp,20
	sw	a1,20(sp)
	sw	a2,24(sp)
	sw	a7,44(sp)
	mv	a0,a1
	sw	a3,28(sp)
	mv	a1,a2
	sw	a4,32(sp)
	sw	a6,40(sp)
	sw	a5,12(sp)
	mv	a2,a3
	mv	a7,t1
 #APP
# 22 "libc/riscv.h" 1
	ecall
# 0 "" 2
 #NO_APP
	addi	sp,sp,48
	jr	ra
	.size	syscall, .-syscall
	.align	2
	.weak	write
	.type	write, @function
write:
	li	a7,64
 #APP
# 22 "libc/riscv.h" 1
	ecall
# 0 "" 2
 #NO_APP
	ret
	.size	write, .-write
	.align	2
	.weak	getpid
	.type	getpid, @function
getpid:
	li	a0,0
	li	a1,0
	li	a2,0
	li	a7,172
 #APP
# 22 "libc/riscv.h" 1
	ecall
# 0 "" 2
 #NO_APP
	ret
	.size	getpid, .-getpid
	.align	2
	.weak	getuid
	.type	getuid, @function
getuid:
	li	a0,0
	li	a1,0
	li	a2,0
	li	a7,174
 #APP
# 22 "libc/riscv.h" 1
	ecall
# 0 "" 2
 #NO_APP
	ret
	.size	getuid, .-getuid
	.align	2
	.weak	abort
	.type	abort, @function
abort:
	addi	sp,sp,-16
	li	a0,134
	sw	ra,12(sp)
	call	_exit
	.size	abort, .-abort
	.align	2
	.weak	vsnprintf
	.type	vsnprintf, @function
vsnprintf:
	addi	sp,sp,-48
	sw	s0,40(sp)
	sw	ra,44(sp)
	mv	s0,a1
	sw	s1,36(sp)
	mv	a1,a2
	bne	s0,zero,.L326
	addi	a0,sp,20
	addi	a5,sp,15
	addi	a2,sp,16
	sw	a5,20(sp)
	sw	zero,24(sp)
	sw	zero,28(sp)
	sw	a3,16(sp)
	call	format_into
	lw	ra,44(sp)
	lw	s0,40(sp)
	lw	a0,28(sp)
	lw	s1,36(sp)
	addi	sp,sp,48
	jr	ra
.L326:
	mv	s1,a0
	addi	a2,sp,16
	addi	a0,sp,20
	sw	s1,20(sp)
	sw	s0,24(sp)
	sw	zero,28(sp)
	sw	a3,16(sp)
	call	format_into
	lw	a0,28(sp)
	mv	a5,a0
	bgeu	a0,s0,.L327
	add	s1,s1,a5
	sb	zero,0(s1)
.L328:
	lw	ra,44(sp)
	lw	s0,40(sp)
	lw	s1,36(sp)
	addi	sp,sp,48
	jr	ra
.L327:
	addi	a5,s0,-1
	add	s1,s1,a5
	sb	zero,0(s1)
	j	.L328
	.size	vsnprintf, .-vsnprintf
	.align	2
	.weak	vprintf
	.type	vprintf, @function
vprintf:
	addi	sp,sp,-32
	mv	a4,a0
	mv	a5,a1
	addi	a0,sp,4
	mv	a2,sp
	mv	a1,a4
	sw	ra,28(sp)
	sw	zero,4(sp)
	sw	zero,8(sp)
	sw	zero,12(sp)
	sw	a5,0(sp)
	call	format_into
	lw	ra,28(sp)
	lw	a0,12(sp)
	addi	sp,sp,32
	jr	ra
	.size	vprintf, .-vprintf
	.align	2
	.weak	printf
	.type	printf, @function
printf:
	addi	sp,sp,-64
	addi	t1,sp,36
	sw	a1,36(sp)
	mv	a1,t1
	sw	ra,28(sp)
	sw	a2,40(sp)
	sw	a3,44(sp)
	sw	a4,48(sp)
	sw	a5,52(sp)
	sw	a6,56(sp)
	sw	a7,60(sp)
	sw	t1,12(sp)
	call	vprintf
	lw	ra,28(sp)
	addi	sp,sp,64
	jr	ra
	.size	printf, .-printf
	.align	2
	.weak	snprintf
	.type	snprintf, @function
snprintf:
	addi	sp,sp,-64
	addi	t1,sp,44
	sw	a3,44(sp)
	mv	a3,t1
	sw	ra,28(sp)
	sw	a4,48(sp)
	sw	a5,52(sp)
	sw	a6,56(sp)
	sw	a7,60(sp)
	sw	t1,12(sp)
	call	vsnprintf
	lw	ra,28(sp)
	addi	sp,sp,64
	jr	ra
	.size	snprintf, .-snprintf
	.align	2
	.weak	sprintf
	.type	sprintf, @function
sprintf:
	addi	sp,sp,-64
	addi	t1,sp,40
	sw	a2,40(sp)
	mv	a2,a1
	li	a1,-2147483648
	sw	a3,44(sp)
	xori	a1,a1,-1
	mv	a3,t1
	sw	ra,28(sp)
	sw	a4,48(sp)
	sw	a5,52(sp)
	sw	a6,56(sp)
	sw	a7,60(sp)
	sw	t1,12(sp)
	call	vsnprintf
	lw	ra,28(sp)
	addi	sp,sp,64
	jr	ra
	.size	sprintf, .-sprintf
	.align	2
	.weak	putchar
	.type	putchar, @function
putchar:
	li	a4,268435456
.L338:
	lbu	a5,5(a4)
	andi	a5,a5,32
	beq	a5,zero,.L338
	andi	a5,a0,0xff
	sb	a5,0(a4)
	mv	a0,a5
	ret
	.size	putchar, .-putchar
	.align	2
	.weak	puts
	.type	puts, @function
puts:
	lbu	a3,0(a0)
	beq	a3,zero,.L342
	li	a4,268435456
.L344:
	addi	a0,a0,1
.L343:
	lbu	a5,5(a4)
	andi	a5,a5,32
	beq	a5,zero,.L343
	sb	a3,0(a4)
	lbu	a3,0(a0)
	bne	a3,zero,.L344
.L342:
	li	a4,268435456
.L345:
	lbu	a5,5(a4)
	andi	a5,a5,32
	beq	a5,zero,.L345
	li	a5,10
	sb	a5,0(a4)
	li	a0,0
	ret
	.size	puts, .-puts
	.align	2
	.weak	malloc
	.type	malloc, @function
malloc:
	lla	a3,next
	lw	a5,0(a3)
	mv	a4,a0
	beq	a5,zero,.L357
	addi	a5,a5,15
	andi	a0,a5,-16
	add	a5,a0,a4
	sw	a5,0(a3)
	ret
.L357:
	lla	a5,_end
	addi	a5,a5,15
	andi	a0,a5,-16
	add	a5,a0,a4
	sw	a5,0(a3)
	ret
	.size	malloc, .-malloc
	.align	2
	.weak	free
	.type	free, @function
free:
	ret
	.size	free, .-free
	.align	2
	.weak	abs
	.type	abs, @function
abs:
	srai	a5,a0,31
	xor	a0,a5,a0
	sub	a0,a0,a5
	ret
	.size	abs, .-abs
	.align	2
	.weak	atoi
	.type	atoi, @function
atoi:
	mv	a5,a0
	li	a2,32
	li	a1,1
.L361:
	lbu	a4,0(a5)
	addi	a3,a4,-9
	andi	a3,a3,0xff
	beq	a4,a2,.L362
	bleu	a3,a1,.L362
	li	a3,45
	beq	a4,a3,.L363
	li	a3,43
	beq	a4,a3,.L381
	addi	a2,a4,-48
	andi	a3,a2,0xff
	li	a4,9
	li	a6,0
	bgtu	a3,a4,.L380
.L368:
	li	a0,0
	li	a1,9
.L366:
	lbu	a4,1(a5)
	slli	a3,a0,2
	add	a3,a3,a0
	slli	a3,a3,1
	add	a0,a2,a3
	addi	a2,a4,-48
	andi	a4,a2,0xff
	addi	a5,a5,1
	bleu	a4,a1,.L366
	beq	a6,zero,.L360
	neg	a0,a0
	ret
.L362:
	addi	a5,a5,1
	j	.L361
.L381:
	lbu	a4,1(a5)
	li	a3,9
	addi	a5,a5,1
	addi	a2,a4,-48
	andi	a4,a2,0xff
	li	a6,0
	bleu	a4,a3,.L368
.L380:
	li	a0,0
.L360:
	ret
.L363:
	lbu	a4,1(a5)
	li	a3,9
	addi	a5,a5,1
	addi	a2,a4,-48
	andi	a4,a2,0xff
	li	a6,1
	bleu	a4,a3,.L368
	li	a0,0
	j	.L360
	.size	atoi, .-atoi
	.align	2
	.weak	srand
	.type	srand, @function
srand:
	bne	a0,zero,.L383
	li	a0,1
.L383:
	sw	a0,seed,a5
	ret
	.size	srand, .-srand
	.align	2
	.weak	rand
	.type	rand, @function
rand:
	lla	a3,seed
	lw	a5,0(a3)
	slli	a4,a5,13
	xor	a4,a4,a5
	srli	a5,a4,17
	xor	a5,a5,a4
	slli	a0,a5,5
	xor	a0,a0,a5
	sw	a0,0(a3)
	srli	a0,a0,1
	ret
	.size	rand, .-rand
	.align	2
	.weak	memcpy
	.type	memcpy, @function
memcpy:
	beq	a2,zero,.L386
	add	a2,a0,a2
	mv	a5,a0
.L387:
	lbu	a4,0(a1)
	addi	a5,a5,1
	addi	a1,a1,1
	sb	a4,-1(a5)
	bne	a5,a2,.L387
.L386:
	ret
	.size	memcpy, .-memcpy
	.align	2
	.weak	memmove
	.type	memmove, @function
memmove:
	mv	a6,a0
	mv	a7,a1
	bleu	a0,a1,.L393
	addi	a5,a2,-1
	li	a1,-1
	beq	a2,zero,.L396
.L394:
	add	a4,a7,a5
	lbu	a3,0(a4)
	add	a4,a6,a5
	addi	a5,a5,-1
	sb	a3,0(a4)
	bne	a5,a1,.L394
.L396:
	mv	a0,a6
	ret
.L393:
	tail	memcpy
	.size	memmove, .-memmove
	.align	2
	.weak	memset
	.type	memset, @function
memset:
	andi	a1,a1,0xff
	add	a4,a0,a2
	mv	a5,a0
	beq	a2,zero,.L405
.L401:
	addi	a5,a5,1
	sb	a1,-1(a5)
	bne	a5,a4,.L401
.L405:
	ret
	.size	memset, .-memset
	.align	2
	.weak	memcmp
	.type	memcmp, @function
memcmp:
	beq	a2,zero,.L410
	add	a2,a1,a2
	j	.L409
.L408:
	beq	a1,a2,.L410
.L409:
	lbu	a5,0(a0)
	lbu	a4,0(a1)
	addi	a0,a0,1
	addi	a1,a1,1
	beq	a5,a4,.L408
	sub	a0,a5,a4
	ret
.L410:
	li	a0,0
	ret
	.size	memcmp, .-memcmp
	.align	2
	.weak	strlen
	.type	strlen, @function
strlen:
	lbu	a5,0(a0)
	mv	a4,a0
	li	a0,0
	beq	a5,zero,.L415
.L414:
	addi	a0,a0,1
	add	a5,a4,a0
	lbu	a5,0(a5)
	bne	a5,zero,.L414
	ret
.L415:
	ret
	.size	strlen, .-strlen
	.align	2
	.weak	strncmp
	.type	strncmp, @function
strncmp:
	beq	a2,zero,.L423
	add	a2,a0,a2
	j	.L422
.L426:
	beq	a5,zero,.L425
	beq	a0,a2,.L423
.L422:
	lbu	a5,0(a1)
	lbu	a4,0(a0)
	addi	a1,a1,1
	addi	a0,a0,1
	beq	a4,a5,.L426
	sub	a0,a4,a5
	ret
.L423:
	li	a0,0
	ret
.L425:
	li	a4,0
	sub	a0,a4,a5
	ret
	.size	strncmp, .-strncmp
	.align	2
	.weak	strcmp
	.type	strcmp, @function
strcmp:
	li	a2,-1
	tail	strncmp
	.size	strcmp, .-strcmp
	.align	2
	.weak	strcpy
	.type	strcpy, @function
strcpy:
	mv	a5,a0
.L429:
	lbu	a4,0(a1)
	addi	a5,a5,1
	addi	a1,a1,1
	sb	a4,-1(a5)
	bne	a4,zero,.L429
	ret
	.size	strcpy, .-strcpy
	.align	2
	.weak	strncpy
	.type	strncpy, @function
strncpy:
	mv	a5,a0
	bne	a2,zero,.L432
	j	.L443
.L435:
	sb	a4,0(a5)
	addi	a2,a2,-1
	addi	a5,a5,1
	beq	a2,zero,.L444
.L432:
	lbu	a4,0(a1)
	addi	a1,a1,1
	bne	a4,zero,.L435
	add	a2,a5,a2
.L434:
	addi	a5,a5,1
	sb	zero,-1(a5)
	bne	a5,a2,.L434
	ret
.L444:
	ret
.L443:
	ret
	.size	strncpy, .-strncpy
	.align	2
	.weak	strcat
	.type	strcat, @function
strcat:
	addi	sp,sp,-16
	sw	ra,12(sp)
	sw	s0,8(sp)
	sw	s1,4(sp)
	mv	s0,a0
	mv	s1,a1
	call	strlen
	mv	a1,s1
	add	a0,s0,a0
	call	strcpy
	lw	ra,12(sp)
	mv	a0,s0
	lw	s0,8(sp)
	lw	s1,4(sp)
	addi	sp,sp,16
	jr	ra
	.size	strcat, .-strcat
	.align	2
	.weak	strchr
	.type	strchr, @function
strchr:
	lbu	a5,0(a0)
	andi	a1,a1,0xff
	bne	a5,a1,.L449
	j	.L447
.L454:
	lbu	a5,0(a0)
	beq	a5,a1,.L453
.L449:
	addi	a0,a0,1
	bne	a5,zero,.L454
	li	a0,0
.L447:
	ret
.L453:
	ret
	.size	strchr, .-strchr
	.section	.rodata
	.align	3
	.set	.LANCHOR0,. + 0
	.type	POWERS, @object
	.size	POWERS, 160
POWERS:
	.word	-1981284352
	.word	-1966660860
	.word	-1486618624
	.word	232830643
	.word	1569325056
	.word	23283064
	.word	1874919424
	.word	2328306
	.word	-1530494976
	.word	232830
	.word	276447232
	.word	23283
	.word	1316134912
	.word	2328
	.word	-727379968
	.word	232
	.word	1215752192
	.word	23
	.word	1410065408
	.word	2
	.word	1000000000
	.word	0
	.word	100000000
	.word	0
	.word	10000000
	.word	0
	.word	1000000
	.word	0
	.word	100000
	.word	0
	.word	10000
	.word	0
	.word	1000
	.word	0
	.word	100
	.word	0
	.word	10
	.word	0
	.word	1
	.word	0
	.section	.sbss,"aw",@nobits
	.align	2
	.type	next, @object
	.size	next, 4
next:
	.zero	4
	.section	.sdata,"aw"
	.align	2
	.type	seed, @object
	.size	seed, 4
seed:
	.word	1
