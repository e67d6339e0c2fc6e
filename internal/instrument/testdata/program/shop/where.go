package shop

import (
	"fmt"
	"runtime"
	"strings"
)

func where() string {
	_, file, line, _ := runtime.Caller(0)
	return fmt.Sprint(file[strings.LastIndexByte(file, '/')+1:], ":", line) + generated()
}

//line table.y:100
func generated() string {
	_, file, line, _ := runtime.Caller(0)
	return fmt.Sprint(" ", file[strings.LastIndexByte(file, '/')+1:], ":", line)
}
