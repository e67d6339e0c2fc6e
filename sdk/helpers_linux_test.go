package corehour

import "syscall"

func threadID() int { return syscall.Gettid() }
