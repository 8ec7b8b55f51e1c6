module tollgate/runtimes/go

go 1.19
