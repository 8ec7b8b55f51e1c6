	.file	"libc.c"
	.option nopic
	.attribute arch, "rv64i2p1"
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
	ld	t1,16(a0)
	ld	t3,8(a0)
	addi	a5,t1,1
	bgeu	a5,t3,.L8
	add	a7,a7,t1
	sb	t4,0(a7)
	ld	a5,16(a0)
	addi	a5,a5,1
.L8:
	sd	a5,16(a0)
	addiw	a3,a3,-1
	beq	a2,a3,.L37
.L5:
	ld	a7,0(a0)
	bne	a7,zero,.L6
.L7:
	lbu	a5,5(a6)
	andi	a5,a5,32
	beq	a5,zero,.L7
	sb	t4,0(a6)
	ld	a5,16(a0)
	addiw	a3,a3,-1
	addi	a5,a5,1
	sd	a5,16(a0)
	bne	a2,a3,.L5
.L37:
	ble	a2,zero,.L1
.L3:
	li	a6,0
	li	a7,268435456
	j	.L13
.L10:
	ld	t3,16(a0)
	ld	t5,8(a0)
	addi	a5,t3,1
	bgeu	a5,t5,.L12
	add	t1,t1,t3
	sb	t4,0(t1)
	ld	a5,16(a0)
	addi	a5,a5,1
.L12:
	addi	a6,a6,1
	sd	a5,16(a0)
	sext.w	a5,a6
	ble	a2,a5,.L38
.L13:
	ld	t1,0(a0)
	add	a5,a1,a6
	lbu	t4,0(a5)
	bne	t1,zero,.L10
.L11:
	lbu	a5,5(a7)
	andi	a5,a5,32
	beq	a5,zero,.L11
	sb	t4,0(a7)
	ld	a5,16(a0)
	addi	a6,a6,1
	addi	a5,a5,1
	sd	a5,16(a0)
	sext.w	a5,a6
	bgt	a2,a5,.L13
.L38:
	beq	a4,zero,.L1
.L4:
	bge	a2,a3,.L1
	li	t3,32
	li	a1,268435456
	j	.L17
.L14:
	ld	a7,16(a0)
	ld	t1,8(a0)
	addi	a5,a7,1
	bgeu	a5,t1,.L16
	add	a6,a6,a7
	sb	t3,0(a6)
	ld	a5,16(a0)
	addi	a5,a5,1
.L16:
	sd	a5,16(a0)
	addiw	a3,a3,-1
	beq	a4,zero,.L1
.L39:
	beq	a2,a3,.L1
.L17:
	ld	a6,0(a0)
	bne	a6,zero,.L14
.L15:
	lbu	a5,5(a1)
	andi	a5,a5,32
	beq	a5,zero,.L15
	sb	t3,0(a1)
	ld	a5,16(a0)
	addiw	a3,a3,-1
	addi	a5,a5,1
	sd	a5,16(a0)
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
	.section	.rodata.str1.8,"aMS",@progbits,1
	.align	3
.LC0:
	.string	"0123456789abcdef"
	.align	3
.LC1:
	.string	"0123456789ABCDEF"
	.text
	.align	2
	.type	put_number, @function
put_number:
	li	a5,111
	addi	sp,sp,-176
	beq	a4,a5,.L100
	bleu	a4,a5,.L142
	andi	a5,a4,247
	li	a6,112
	beq	a5,a6,.L143
.L45:
	lla	t1,.LANCHOR0
	ld	a7,0(t1)
	mv	a5,a2
	li	t4,0
	li	t3,0
	li	t0,19
	lla	t6,.LC0
	li	t5,20
	bgtu	a7,a5,.L144
.L50:
	li	a6,0
.L47:
	sub	a5,a5,a7
	addiw	a6,a6,1
	bleu	a7,a5,.L47
.L48:
	add	a6,a6,t6
	lbu	a7,0(a6)
	addi	a6,t4,176
	add	a6,a6,sp
	sb	a7,-168(a6)
	addiw	t3,t3,1
	addiw	a6,t4,1
	addi	t1,t1,8
	beq	t3,t5,.L52
	ld	a7,0(t1)
	mv	t4,a6
	bleu	a7,a5,.L50
.L144:
	bne	t4,zero,.L104
	addi	t1,t1,8
	beq	t3,t0,.L49
.L145:
	ld	a7,0(t1)
	addiw	t3,t3,1
	bgeu	a5,a7,.L50
	addi	t1,t1,8
	bne	t3,t0,.L145
.L49:
	li	a5,48
	sb	a5,8(sp)
	li	a6,1
.L52:
	li	t6,0
.L54:
	lw	a5,24(a1)
	bne	a5,zero,.L58
	snez	a7,a2
	neg	a7,a7
	and	a6,a6,a7
.L58:
	bne	a3,zero,.L106
	lw	a3,8(a1)
	beq	a3,zero,.L60
	li	a3,43
.L59:
	sb	a3,80(sp)
	li	t0,1
.L61:
	li	a3,112
	beq	a4,a3,.L146
	lw	a3,16(a1)
	beq	a3,zero,.L64
	beq	a2,zero,.L65
	li	a3,4
	bne	t6,a3,.L65
	li	a2,88
	addiw	a3,t0,1
	beq	a4,a2,.L63
	li	a4,120
	j	.L63
.L142:
	li	a5,88
	beq	a4,a5,.L147
	li	a5,98
	bne	a4,a5,.L45
	li	t5,1
	li	a7,63
	li	t6,1
	lla	t4,.LC0
.L41:
	li	a6,0
.L57:
	srl	a5,a2,a7
	and	a5,t5,a5
	add	t3,t4,a5
	or	a5,a6,a5
	addi	t1,a6,176
	sext.w	a5,a5
	add	t1,t1,sp
	bne	a5,zero,.L55
	bne	a7,zero,.L105
	lbu	a5,0(t4)
	li	a6,1
	sb	a5,8(sp)
	j	.L54
.L65:
	li	a4,3
	beq	t6,a4,.L148
.L64:
	li	a2,0
	ble	a5,a6,.L66
	subw	a2,a5,a6
.L66:
	lw	a4,4(a1)
	lw	a3,0(a1)
	beq	a4,zero,.L67
	beq	a3,zero,.L149
	addw	a4,t0,a2
	addw	a4,a4,a6
.L70:
	addi	a3,sp,80
	add	t6,t0,a3
	li	a7,268435456
	bne	t0,zero,.L82
	j	.L83
.L79:
	ld	t3,16(a0)
	ld	t5,8(a0)
	addi	a5,t3,1
	bgeu	a5,t5,.L81
	add	t1,t1,t3
	sb	t4,0(t1)
	ld	a5,16(a0)
	addi	a5,a5,1
.L81:
	sd	a5,16(a0)
	addi	a3,a3,1
	beq	t6,a3,.L83
.L82:
	ld	t1,0(a0)
	lbu	t4,0(a3)
	bne	t1,zero,.L79
.L80:
	lbu	a5,5(a7)
	andi	a5,a5,32
	beq	a5,zero,.L80
	sb	t4,0(a7)
	ld	a5,16(a0)
	addi	a3,a3,1
	addi	a5,a5,1
	sd	a5,16(a0)
	bne	t6,a3,.L82
.L83:
	li	t4,48
	li	a3,268435456
	bgt	a2,zero,.L77
	j	.L78
.L86:
	ld	t1,16(a0)
	ld	t3,8(a0)
	addi	a5,t1,1
	bgeu	a5,t3,.L88
	add	a7,a7,t1
	sb	t4,0(a7)
	ld	a5,16(a0)
	addi	a5,a5,1
.L88:
	sd	a5,16(a0)
	addiw	a2,a2,-1
	beq	a2,zero,.L78
.L77:
	ld	a7,0(a0)
	bne	a7,zero,.L86
.L87:
	lbu	a5,5(a3)
	andi	a5,a5,32
	beq	a5,zero,.L87
	sb	t4,0(a3)
	ld	a5,16(a0)
	addiw	a2,a2,-1
	addi	a5,a5,1
	sd	a5,16(a0)
	bne	a2,zero,.L77
.L78:
	addi	a3,sp,8
	add	t4,a6,a3
	li	a2,268435456
	bne	a6,zero,.L94
	j	.L85
.L91:
	ld	a7,16(a0)
	ld	t3,8(a0)
	addi	a5,a7,1
	bgeu	a5,t3,.L93
	add	a6,a6,a7
	sb	t1,0(a6)
	ld	a5,16(a0)
	addi	a5,a5,1
.L93:
	sd	a5,16(a0)
	addi	a3,a3,1
	beq	a3,t4,.L85
.L94:
	ld	a6,0(a0)
	lbu	t1,0(a3)
	bne	a6,zero,.L91
.L92:
	lbu	a5,5(a2)
	andi	a5,a5,32
	beq	a5,zero,.L92
	sb	t1,0(a2)
	ld	a5,16(a0)
	addi	a3,a3,1
	addi	a5,a5,1
	sd	a5,16(a0)
	bne	a3,t4,.L94
.L85:
	lw	a3,0(a1)
	lw	a2,20(a1)
	beq	a3,zero,.L40
	ble	a2,a4,.L40
	li	t4,32
	li	a6,268435456
	j	.L98
.L95:
	ld	t1,16(a0)
	ld	t3,8(a0)
	addi	a5,t1,1
	bgeu	a5,t3,.L97
	add	a7,a7,t1
	sb	t4,0(a7)
	ld	a5,16(a0)
	lw	a3,0(a1)
	addi	a5,a5,1
.L97:
	sd	a5,16(a0)
	addiw	a2,a2,-1
	beq	a3,zero,.L40
.L150:
	beq	a2,a4,.L40
.L98:
	ld	a7,0(a0)
	bne	a7,zero,.L95
.L96:
	lbu	a5,5(a6)
	andi	a5,a5,32
	beq	a5,zero,.L96
	sb	t4,0(a6)
	ld	a5,16(a0)
	lw	a3,0(a1)
	addiw	a2,a2,-1
	addi	a5,a5,1
	sd	a5,16(a0)
	bne	a3,zero,.L150
.L40:
	addi	sp,sp,176
	jr	ra
.L67:
	addw	a4,t0,a2
	lw	a7,20(a1)
	addw	a4,a4,a6
	bne	a3,zero,.L70
.L99:
	bge	a4,a7,.L70
	li	t6,32
	li	t1,268435456
	j	.L75
.L72:
	ld	t4,16(a0)
	ld	t5,8(a0)
	addi	a5,t4,1
	bgeu	a5,t5,.L74
	add	t3,t3,t4
	sb	t6,0(t3)
	ld	a5,16(a0)
	lw	a3,0(a1)
	addi	a5,a5,1
.L74:
	sd	a5,16(a0)
	addiw	a7,a7,-1
	bne	a3,zero,.L70
	beq	a7,a4,.L70
.L75:
	ld	t3,0(a0)
	bne	t3,zero,.L72
.L73:
	lbu	a5,5(t1)
	andi	a5,a5,32
	beq	a5,zero,.L73
	sb	t6,0(t1)
	ld	a5,16(a0)
	lw	a3,0(a1)
	addi	a5,a5,1
	j	.L74
.L106:
	li	a3,45
	j	.L59
.L147:
	li	t5,15
	li	t6,4
	li	a7,60
	lla	t4,.LC1
	j	.L41
.L55:
	lbu	a5,0(t3)
	addiw	a6,a6,1
	sb	a5,-168(t1)
.L56:
	subw	a7,a7,t6
	bge	a7,zero,.L57
	j	.L54
.L105:
	li	a6,0
	j	.L56
.L146:
	addiw	a3,t0,1
	li	a4,120
.L63:
	addi	a2,t0,176
	add	a2,a2,sp
	li	a7,48
	addi	a3,a3,176
	sb	a7,-96(a2)
	add	a3,a3,sp
	addiw	t0,t0,2
	sb	a4,-96(a3)
	j	.L64
.L100:
	li	t5,7
	li	t6,3
	li	a7,63
	lla	t4,.LC0
	j	.L41
.L104:
	li	a6,0
	j	.L48
.L149:
	lw	a7,20(a1)
	blt	a5,zero,.L151
.L69:
	addw	a4,t0,a2
	addw	a4,a4,a6
	j	.L99
.L60:
	lw	t0,12(a1)
	beq	t0,zero,.L61
	li	a3,32
	j	.L59
.L143:
	li	t5,15
	li	a7,60
	li	t6,4
	lla	t4,.LC0
	j	.L41
.L151:
	addw	a5,a6,t0
	bge	a5,a7,.L69
	subw	a2,a7,t0
	subw	a2,a2,a6
	j	.L69
.L148:
	addi	a4,t0,176
	add	a4,a4,sp
	li	a3,48
	sb	a3,-96(a4)
	addiw	t0,t0,1
	j	.L64
	.size	put_number, .-put_number
	.section	.rodata.str1.8
	.align	3
.LC2:
	.string	"(null)"
	.align	3
.LC3:
	.string	"(no floats)"
	.text
	.align	2
	.type	format_into, @function
format_into:
	lbu	a4,0(a1)
	beq	a4,zero,.L262
	addi	sp,sp,-112
	sd	s0,96(sp)
	sd	s1,88(sp)
	sd	s2,80(sp)
	sd	s3,72(sp)
	sd	s4,64(sp)
	sd	s5,56(sp)
	sd	s6,48(sp)
	sd	ra,104(sp)
	mv	s0,a1
	mv	s6,a0
	mv	s4,a2
	li	s5,1
	li	s1,48
	li	s2,43
	li	s3,32
.L153:
	li	a5,37
	beq	a4,a5,.L155
	ld	a3,0(s6)
	beq	a3,zero,.L266
	ld	a2,16(s6)
	ld	a1,8(s6)
	addi	a5,a2,1
	bgeu	a5,a1,.L158
	add	a3,a3,a2
.L265:
	sb	a4,0(a3)
	ld	a5,16(s6)
	addi	a5,a5,1
.L158:
	sd	a5,16(s6)
.L159:
	lbu	a4,1(s0)
	addi	s0,s0,1
	bne	a4,zero,.L153
.L152:
	ld	ra,104(sp)
	ld	s0,96(sp)
	ld	s1,88(sp)
	ld	s2,80(sp)
	ld	s3,72(sp)
	ld	s4,64(sp)
	ld	s5,56(sp)
	ld	s6,48(sp)
	addi	sp,sp,112
	jr	ra
.L155:
	li	a5,-1
	sd	zero,40(sp)
	addi	s0,s0,1
	sw	a5,40(sp)
	lbu	a5,0(s0)
	sd	zero,16(sp)
	sd	zero,24(sp)
	sd	zero,32(sp)
	li	a4,45
	li	a0,0
	li	a7,0
	li	a6,0
	li	a2,0
	li	a3,0
	li	a1,35
	beq	a5,a4,.L216
.L267:
	beq	a5,s1,.L217
	beq	a5,s2,.L218
	beq	a5,s3,.L219
	bne	a5,a1,.L161
	li	a0,1
	addi	s0,s0,1
.L268:
	lbu	a5,0(s0)
	bne	a5,a4,.L267
.L216:
	li	a3,1
	addi	s0,s0,1
	j	.L268
.L217:
	li	a2,1
	addi	s0,s0,1
	j	.L268
.L218:
	li	a6,1
	addi	s0,s0,1
	j	.L268
.L219:
	li	a7,1
	addi	s0,s0,1
	j	.L268
.L161:
	beq	a0,zero,.L163
	sw	s5,32(sp)
.L163:
	beq	a7,zero,.L164
	sw	s5,28(sp)
.L164:
	beq	a6,zero,.L165
	sw	s5,24(sp)
.L165:
	beq	a2,zero,.L166
	li	a4,1
	sw	a4,20(sp)
.L166:
	beq	a3,zero,.L167
	li	a4,1
	sw	a4,16(sp)
.L167:
	li	a4,42
	beq	a5,a4,.L168
	addiw	a3,a5,-48
	andi	a2,a3,0xff
	li	a4,9
	li	a1,0
	li	a0,9
	bgtu	a2,a4,.L170
.L169:
	lbu	a5,1(s0)
	slliw	a4,a1,2
	addw	a4,a4,a1
	slliw	a4,a4,1
	addw	a1,a4,a3
	addiw	a3,a5,-48
	andi	a2,a3,0xff
	addi	s0,s0,1
	bleu	a2,a0,.L169
	sw	a1,36(sp)
.L171:
	bge	a1,zero,.L170
	negw	a1,a1
	sw	s5,16(sp)
	sw	a1,36(sp)
.L170:
	li	a4,46
	beq	a5,a4,.L269
.L174:
	li	a3,108
	li	a1,0
	li	a4,0
	li	a6,106
	li	a7,122
	li	a2,116
	li	a0,104
	beq	a5,a3,.L270
.L178:
	beq	a5,a6,.L222
	beq	a5,a7,.L224
	beq	a5,a2,.L224
	bne	a5,a0,.L180
	addiw	a4,a4,-1
.L179:
	lbu	a5,1(s0)
	addi	s0,s0,1
	li	a1,1
	bne	a5,a3,.L178
.L270:
	addiw	a4,a4,1
	j	.L179
.L224:
	li	a4,1
	j	.L179
.L222:
	li	a4,2
	j	.L179
.L180:
	beq	a1,zero,.L181
	sw	a4,44(sp)
.L181:
	beq	a5,zero,.L152
	addiw	a4,a5,-88
	andi	a4,a4,0xff
	bgtu	a4,s3,.L183
	lla	a3,.L185
	slli	a4,a4,2
	add	a4,a4,a3
	lw	a4,0(a4)
	add	a4,a4,a3
	jr	a4
	.section	.rodata
	.align	2
	.align	2
.L185:
	.word	.L184-.L185
	.word	.L183-.L185
	.word	.L183-.L185
	.word	.L183-.L185
	.word	.L183-.L185
	.word	.L183-.L185
	.word	.L183-.L185
	.word	.L183-.L185
	.word	.L183-.L185
	.word	.L183-.L185
	.word	.L184-.L185
	.word	.L189-.L185
	.word	.L187-.L185
	.word	.L188-.L185
	.word	.L188-.L185
	.word	.L188-.L185
	.word	.L183-.L185
	.word	.L187-.L185
	.word	.L183-.L185
	.word	.L183-.L185
	.word	.L183-.L185
	.word	.L183-.L185
	.word	.L183-.L185
	.word	.L184-.L185
	.word	.L184-.L185
	.word	.L183-.L185
	.word	.L183-.L185
	.word	.L186-.L185
	.word	.L183-.L185
	.word	.L184-.L185
	.word	.L183-.L185
	.word	.L183-.L185
	.word	.L184-.L185
	.text
.L183:
	li	a3,37
	ld	a4,0(s6)
	bne	a5,a3,.L271
	beq	a4,zero,.L260
.L278:
	ld	a1,8(s6)
.L212:
	ld	a2,16(s6)
	addi	a3,a2,1
	bgeu	a3,a1,.L214
	add	a4,a4,a2
	sb	a5,0(a4)
	ld	a3,16(s6)
	addi	a3,a3,1
.L214:
	sd	a3,16(s6)
	j	.L159
.L184:
	ld	a4,0(s4)
	li	a2,112
	addi	a3,a4,8
	beq	a5,a2,.L272
	lw	a5,44(sp)
	li	a2,1
	ble	a5,a2,.L199
.L198:
	ld	a2,0(a4)
	sd	a3,0(s4)
.L200:
	lbu	a4,0(s0)
	li	a3,0
	addi	a1,sp,16
	mv	a0,s6
	sd	zero,24(sp)
	call	put_number
	j	.L159
.L188:
	ld	a5,0(s4)
	lw	a4,16(sp)
	lw	a3,36(sp)
	addi	a5,a5,8
	sd	a5,0(s4)
	li	a2,11
	lla	a1,.LC3
	mv	a0,s6
	call	put_text
	j	.L159
.L187:
	ld	a4,0(s4)
	lw	a5,44(sp)
	li	a3,1
	addi	a2,a4,8
	ble	a5,a3,.L190
	ld	a3,0(a4)
	sd	a2,0(s4)
.L191:
	srai	a5,a3,63
	xor	a2,a5,a3
	li	a4,100
	slti	a3,a3,0
	sub	a2,a2,a5
	addi	a1,sp,16
	mv	a0,s6
	call	put_number
	j	.L159
.L189:
	ld	a5,0(s4)
	lw	a4,16(sp)
	lw	a3,36(sp)
	lw	a6,0(a5)
	addi	a5,a5,8
	sd	a5,0(s4)
	li	a2,1
	addi	a1,sp,15
	mv	a0,s6
	sb	a6,15(sp)
	call	put_text
	j	.L159
.L186:
	ld	a5,0(s4)
	addi	a4,a5,8
	sd	a4,0(s4)
	ld	a1,0(a5)
	beq	a1,zero,.L273
	lwu	a3,40(sp)
	li	a2,0
.L206:
	beq	a2,a3,.L205
.L274:
	addi	a5,a2,1
	add	a4,a1,a5
	lbu	a4,-1(a4)
	beq	a4,zero,.L205
	mv	a2,a5
	bne	a2,a3,.L274
.L205:
	lw	a4,16(sp)
	lw	a3,36(sp)
	sext.w	a2,a2
	mv	a0,s6
	call	put_text
	j	.L159
.L266:
	li	a3,268435456
.L157:
	lbu	a5,5(a3)
	andi	a5,a5,32
	beq	a5,zero,.L157
	j	.L265
.L168:
	ld	a5,0(s4)
	addi	s0,s0,1
	lw	a1,0(a5)
	addi	a5,a5,8
	sd	a5,0(s4)
	lbu	a5,0(s0)
	sw	a1,36(sp)
	j	.L171
.L269:
	lbu	a5,1(s0)
	li	a4,42
	addi	a2,s0,1
	beq	a5,a4,.L275
	addiw	a3,a5,-48
	sw	zero,40(sp)
	andi	a1,a3,0xff
	li	a4,9
	bgtu	a1,a4,.L221
	li	a1,0
	li	a6,9
.L177:
	lbu	a5,1(a2)
	slliw	a4,a1,2
	addw	a4,a4,a1
	slliw	a4,a4,1
	addw	a1,a4,a3
	addiw	a3,a5,-48
	andi	a0,a3,0xff
	addi	a2,a2,1
	bleu	a0,a6,.L177
	sw	a1,40(sp)
	mv	s0,a2
	j	.L174
.L271:
	beq	a4,zero,.L276
	ld	a5,16(s6)
	ld	a1,8(s6)
	addi	a2,a5,1
	bltu	a2,a1,.L211
	sd	a2,16(s6)
	lbu	a5,0(s0)
	j	.L212
.L190:
	beq	a5,zero,.L192
	sd	a2,0(s4)
	li	a2,-1
	ld	a3,0(a4)
	bne	a5,a2,.L277
	slliw	a3,a3,16
	sraiw	a3,a3,16
	j	.L191
.L272:
	li	a5,1
	sw	a5,44(sp)
	j	.L198
.L273:
	lwu	a3,40(sp)
	lla	a1,.LC2
	li	a2,0
	j	.L206
.L192:
	lw	a3,0(a4)
	sd	a2,0(s4)
	j	.L191
.L276:
	li	a4,268435456
.L209:
	lbu	a5,5(a4)
	andi	a5,a5,32
	beq	a5,zero,.L209
	li	a5,37
	sb	a5,0(a4)
	ld	a5,16(s6)
	ld	a4,0(s6)
	addi	a5,a5,1
.L210:
	sd	a5,16(s6)
	lbu	a5,0(s0)
	bne	a4,zero,.L278
.L260:
	li	a3,268435456
.L213:
	lbu	a4,5(a3)
	andi	a4,a4,32
	beq	a4,zero,.L213
	sb	a5,0(a3)
	ld	a3,16(s6)
	addi	a3,a3,1
	sd	a3,16(s6)
	j	.L159
.L275:
	ld	a5,0(s4)
	addi	s0,s0,2
	lw	a4,0(a5)
	addi	a5,a5,8
	sd	a5,0(s4)
	lbu	a5,0(s0)
	sw	a4,40(sp)
	j	.L174
.L199:
	beq	a5,a2,.L198
	lw	a4,0(a4)
	sd	a3,0(s4)
	li	a3,-1
	slli	a2,a4,48
	srli	a2,a2,48
	beq	a5,a3,.L200
	li	a3,-2
	andi	a2,a4,0xff
	beq	a5,a3,.L200
	slli	a2,a4,32
	srli	a2,a2,32
	j	.L200
.L211:
	add	a4,a4,a5
	sb	a3,0(a4)
	ld	a5,16(s6)
	ld	a4,0(s6)
	addi	a5,a5,1
	j	.L210
.L221:
	mv	s0,a2
	j	.L174
.L262:
	ret
.L277:
	li	a4,-2
	bne	a5,a4,.L191
	slliw	a3,a3,24
	sraiw	a3,a3,24
	j	.L191
	.size	format_into, .-format_into
	.align	2
	.globl	answer_ecall
	.type	answer_ecall, @function
answer_ecall:
	li	a5,172
	beq	a3,a5,.L287
	bgt	a3,a5,.L281
	li	a5,64
	bne	a3,a5,.L298
	addi	a0,a0,-1
	li	a5,1
	bgtu	a0,a5,.L290
	add	a0,a2,a1
	li	a4,268435456
	ble	a2,zero,.L286
.L285:
	lbu	a3,0(a1)
.L284:
	lbu	a5,5(a4)
	andi	a5,a5,32
	beq	a5,zero,.L284
	sb	a3,0(a4)
	addi	a1,a1,1
	bne	a1,a0,.L285
.L286:
	mv	a0,a2
	ret
.L281:
	li	a5,174
	li	a0,0
	bne	a3,a5,.L288
	ret
.L288:
	li	a0,-38
	ret
.L298:
	addi	a3,a3,-93
	li	a5,1
	bgtu	a3,a5,.L288
	addi	sp,sp,-16
	sext.w	a0,a0
	sd	ra,8(sp)
	call	_exit
.L287:
	li	a0,1
	ret
.L290:
	li	a0,-9
	ret
	.size	answer_ecall, .-answer_ecall
	.align	2
	.weak	syscall
	.type	syscall, @function
syscall:
	addi	sp,sp,-80
	mv	t1,a0
	sd	a5,56(sp)
	addi	a5,sp,24
	sd	a1,24(sp)
	sd	a2,32(sp)
	sd	a7,72(sp)
	mv	a0,a1
	sd	a3,40(sp)
	mv	a1,a2
	sd	a4,48(sp)
	sd	a6,64(sp)
	sd	a5,8(sp)
	mv	a2,a3
	mv	a7,t1
 #APP
# 22 "libc/riscv.h" 1
	ecall
# 0 "" 2
 #NO_APP
	addi	sp,sp,80
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
	sext.w	a0,a0
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
	sext.w	a0,a0
	ret
	.size	getuid, .-getuid
	.align	2
	.weak	abort
	.type	abort, @function
abort:
	addi	sp,sp,-16
	li	a0,134
	sd	ra,8(sp)
	call	_exit
	.size	abort, .-abort
	.align	2
	.weak	vsnprintf
	.type	vsnprintf, @function
vsnprintf:
	addi	sp,sp,-80
	sd	s0,64(sp)
	sd	ra,72(sp)
	mv	s0,a1
	sd	s1,56(sp)
	mv	a1,a2
	bne	s0,zero,.L317
	addi	a5,sp,15
	addi	a0,sp,24
	addi	a2,sp,16
	sd	a5,24(sp)
	sd	zero,32(sp)
	sd	zero,40(sp)
	sd	a3,16(sp)
	call	format_into
	ld	a5,40(sp)
	ld	ra,72(sp)
	ld	s0,64(sp)
	ld	s1,56(sp)
	sext.w	a0,a5
	addi	sp,sp,80
	jr	ra
.L317:
	mv	s1,a0
	addi	a2,sp,16
	addi	a0,sp,24
	sd	s1,24(sp)
	sd	s0,32(sp)
	sd	zero,40(sp)
	sd	a3,16(sp)
	call	format_into
	ld	a5,40(sp)
	mv	a4,a5
	bgeu	a5,s0,.L318
	add	s1,s1,a4
	sb	zero,0(s1)
.L319:
	ld	ra,72(sp)
	ld	s0,64(sp)
	ld	s1,56(sp)
	sext.w	a0,a5
	addi	sp,sp,80
	jr	ra
.L318:
	addi	a4,s0,-1
	add	s1,s1,a4
	sb	zero,0(s1)
	j	.L319
	.size	vsnprintf, .-vsnprintf
	.align	2
	.weak	vprintf
	.type	vprintf, @function
vprintf:
	addi	sp,sp,-48
	mv	a4,a0
	mv	a5,a1
	addi	a0,sp,8
	mv	a2,sp
	mv	a1,a4
	sd	ra,40(sp)
	sd	zero,8(sp)
	sd	zero,16(sp)
	sd	zero,24(sp)
	sd	a5,0(sp)
	call	format_into
	ld	ra,40(sp)
	lw	a0,24(sp)
	addi	sp,sp,48
	jr	ra
	.size	vprintf, .-vprintf
	.align	2
	.weak	printf
	.type	printf, @function
printf:
	addi	sp,sp,-96
	addi	t1,sp,40
	sd	a1,40(sp)
	mv	a1,t1
	sd	ra,24(sp)
	sd	a2,48(sp)
	sd	a3,56(sp)
	sd	a4,64(sp)
	sd	a5,72(sp)
	sd	a6,80(sp)
	sd	a7,88(sp)
	sd	t1,8(sp)
	call	vprintf
	ld	ra,24(sp)
	addi	sp,sp,96
	jr	ra
	.size	printf, .-printf
	.align	2
	.weak	snprintf
	.type	snprintf, @function
snprintf:
	addi	sp,sp,-80
	addi	t1,sp,40
	sd	a3,40(sp)
	mv	a3,t1
	sd	ra,24(sp)
	sd	a4,48(sp)
	sd	a5,56(sp)
	sd	a6,64(sp)
	sd	a7,72(sp)
	sd	t1,8(sp)
	call	vsnprintf
	ld	ra,24(sp)
	addi	sp,sp,80
	jr	ra
	.size	snprintf, .-snprintf
	.align	2
	.weak	sprintf
	.type	sprintf, @function
sprintf:
	addi	sp,sp,-80
	addi	t1,sp,32
	sd	a2,32(sp)
	mv	a2,a1
	li	a1,-1
	sd	a3,40(sp)
	srli	a1,a1,1
	mv	a3,t1
	sd	ra,24(sp)
	sd	a4,48(sp)
	sd	a5,56(sp)
	sd	a6,64(sp)
	sd	a7,72(sp)
	sd	t1,8(sp)
	call	vsnprintf
	ld	ra,24(sp)
	addi	sp,sp,80
	jr	ra
	.size	sprintf, .-sprintf
	.align	2
	.weak	putchar
	.type	putchar, @function
putchar:
	li	a4,268435456
.L329:
	lbu	a5,5(a4)
	andi	a5,a5,32
	beq	a5,zero,.L329
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
	beq	a3,zero,.L333
	li	a4,268435456
.L335:
	addi	a0,a0,1
.L334:
	lbu	a5,5(a4)
	andi	a5,a5,32
	beq	a5,zero,.L334
	sb	a3,0(a4)
	lbu	a3,0(a0)
	bne	a3,zero,.L335
.L333:
	li	a4,268435456
.L336:
	lbu	a5,5(a4)
	andi	a5,a5,32
	beq	a5,zero,.L336
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
	ld	a5,0(a3)
	mv	a4,a0
	beq	a5,zero,.L348
	addi	a5,a5,15
	andi	a0,a5,-16
	add	a5,a0,a4
	sd	a5,0(a3)
	ret
.L348:
	lla	a5,_end
	addi	a5,a5,15
	andi	a0,a5,-16
	add	a5,a0,a4
	sd	a5,0(a3)
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
	sraiw	a5,a0,31
	xor	a0,a0,a5
	subw	a0,a0,a5
	ret
	.size	abs, .-abs
	.align	2
	.weak	atoi
	.type	atoi, @function
atoi:
	mv	a5,a0
	li	a2,32
	li	a1,1
.L352:
	lbu	a4,0(a5)
	addiw	a3,a4,-9
	andi	a3,a3,0xff
	beq	a4,a2,.L353
	bleu	a3,a1,.L353
	li	a3,45
	beq	a4,a3,.L354
	li	a3,43
	beq	a4,a3,.L373
	addiw	a2,a4,-48
	andi	a3,a2,0xff
	li	a4,9
	li	a6,0
	bgtu	a3,a4,.L372
.L359:
	li	a0,0
	li	a1,9
.L357:
	lbu	a4,1(a5)
	slliw	a3,a0,2
	addw	a3,a3,a0
	slliw	a3,a3,1
	addw	a0,a2,a3
	addiw	a2,a4,-48
	andi	a4,a2,0xff
	addi	a5,a5,1
	bleu	a4,a1,.L357
	beq	a6,zero,.L365
	negw	a0,a0
	ret
.L353:
	addi	a5,a5,1
	j	.L352
.L373:
	lbu	a4,1(a5)
	li	a3,9
	addi	a5,a5,1
	addiw	a2,a4,-48
	andi	a4,a2,0xff
	li	a6,0
	bleu	a4,a3,.L359
.L372:
	li	a0,0
.L365:
	ret
.L354:
	lbu	a4,1(a5)
	li	a3,9
	addi	a5,a5,1
	addiw	a2,a4,-48
	andi	a4,a2,0xff
	li	a6,1
	bleu	a4,a3,.L359
	li	a0,0
	j	.L365
	.size	atoi, .-atoi
	.align	2
	.weak	srand
	.type	srand, @function
srand:
	mv	a5,a0
	bne	a0,zero,.L375
	li	a5,1
.L375:
	sw	a5,seed,a4
	ret
	.size	srand, .-srand
	.align	2
	.weak	rand
	.type	rand, @function
rand:
	lla	a5,seed
	lw	a0,0(a5)
	slliw	a4,a0,13
	xor	a0,a0,a4
	srliw	a4,a0,17
	xor	a0,a0,a4
	slliw	a4,a0,5
	xor	a0,a0,a4
	sext.w	a0,a0
	sw	a0,0(a5)
	srliw	a0,a0,1
	ret
	.size	rand, .-rand
	.align	2
	.weak	memcpy
	.type	memcpy, @function
memcpy:
	beq	a2,zero,.L378
	add	a2,a0,a2
	mv	a5,a0
.L379:
	lbu	a4,0(a1)
	addi	a5,a5,1
	addi	a1,a1,1
	sb	a4,-1(a5)
	bne	a5,a2,.L379
.L378:
	ret
	.size	memcpy, .-memcpy
	.align	2
	.weak	memmove
	.type	memmove, @function
memmove:
	mv	a6,a0
	mv	a7,a1
	bleu	a0,a1,.L385
	addi	a5,a2,-1
	li	a1,-1
	beq	a2,zero,.L388
.L386:
	add	a4,a7,a5
	lbu	a3,0(a4)
	add	a4,a6,a5
	addi	a5,a5,-1
	sb	a3,0(a4)
	bne	a5,a1,.L386
.L388:
	mv	a0,a6
	ret
.L385:
	tail	memcpy
	.size	memmove, .-memmove
	.align	2
	.weak	memset
	.type	memset, @function
memset:
	andi	a1,a1,0xff
	add	a4,a0,a2
	mv	a5,a0
	beq	a2,zero,.L397
.L393:
	addi	a5,a5,1
	sb	a1,-1(a5)
	bne	a5,a4,.L393
.L397:
	ret
	.size	memset, .-memset
	.align	2
	.weak	memcmp
	.type	memcmp, @function
memcmp:
	beq	a2,zero,.L402
	add	a2,a1,a2
	j	.L401
.L400:
	beq	a1,a2,.L402
.L401:
	lbu	a5,0(a0)
	lbu	a4,0(a1)
	addi	a0,a0,1
	addi	a1,a1,1
	beq	a5,a4,.L400
	subw	a0,a5,a4
	ret
.L402:
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
	beq	a5,zero,.L407
.L406:
	addi	a0,a0,1
	add	a5,a4,a0
	lbu	a5,0(a5)
	bne	a5,zero,.L406
	ret
.L407:
	ret
	.size	strlen, .-strlen
	.align	2
	.weak	strncmp
	.type	strncmp, @function
strncmp:
	beq	a2,zero,.L415
	add	a2,a0,a2
	j	.L414
.L411:
	beq	a5,zero,.L417
	beq	a0,a2,.L415
.L414:
	lbu	a5,0(a1)
	lbu	a4,0(a0)
	addi	a1,a1,1
	addi	a0,a0,1
	beq	a4,a5,.L411
	sext.w	a0,a4
	subw	a0,a0,a5
	ret
.L415:
	li	a0,0
	ret
.L417:
	li	a0,0
	subw	a0,a0,a5
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
.L420:
	lbu	a4,0(a1)
	addi	a5,a5,1
	addi	a1,a1,1
	sb	a4,-1(a5)
	bne	a4,zero,.L420
	ret
	.size	strcpy, .-strcpy
	.align	2
	.weak	strncpy
	.type	strncpy, @function
strncpy:
	mv	a5,a0
	bne	a2,zero,.L423
	j	.L434
.L426:
	sb	a4,0(a5)
	addi	a2,a2,-1
	addi	a5,a5,1
	beq	a2,zero,.L435
.L423:
	lbu	a4,0(a1)
	addi	a1,a1,1
	bne	a4,zero,.L426
	add	a2,a5,a2
.L425:
	addi	a5,a5,1
	sb	zero,-1(a5)
	bne	a5,a2,.L425
	ret
.L435:
	ret
.L434:
	ret
	.size	strncpy, .-strncpy
	.align	2
	.weak	strcat
	.type	strcat, @function
strcat:
	addi	sp,sp,-32
	sd	ra,24(sp)
	sd	s0,16(sp)
	sd	s1,8(sp)
	mv	s0,a0
	mv	s1,a1
	call	strlen
	mv	a1,s1
	add	a0,s0,a0
	call	strcpy
	ld	ra,24(sp)
	mv	a0,s0
	ld	s0,16(sp)
	ld	s1,8(sp)
	addi	sp,sp,32
	jr	ra
	.size	strcat, .-strcat
	.align	2
	.weak	strchr
	.type	strchr, @function
strchr:
	lbu	a5,0(a0)
	andi	a1,a1,0xff
	bne	a5,a1,.L440
	j	.L438
.L445:
	lbu	a5,0(a0)
	beq	a5,a1,.L444
.L440:
	addi	a0,a0,1
	bne	a5,zero,.L445
	li	a0,0
.L438:
	ret
.L444:
	ret
	.size	strchr, .-strchr
	.section	.rodata
	.align	3
	.set	.LANCHOR0,. + 0
	.type	POWERS, @object
	.size	POWERS, 160
POWERS:
	.dword	-8446744073709551616
	.dword	1000000000000000000
	.dword	100000000000000000
	.dword	10000000000000000
	.dword	1000000000000000
	.dword	100000000000000
	.dword	10000000000000
	.dword	1000000000000
	.dword	100000000000
	.dword	10000000000
	.dword	1000000000
	.dword	100000000
	.dword	10000000
	.dword	1000000
	.dword	100000
	.dword	10000
	.dword	1000
	.dword	100
	.dword	10
	.dword	1
	.section	.sbss,"aw",@nobits
	.align	3
	.type	next, @object
	.size	next, 8
next:
	.zero	8
	.section	.sdata,"aw"
	.align	2
	.type	seed, @object
	.size	seed, 4
seed:
	.word	1
