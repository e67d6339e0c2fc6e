// Program has one of everything that a build with probes must not change.
package main

import (
	"fmt"
	"log"
	"os"
	"time"

	"example.com/program/native"
	"example.com/program/shop"
	"example.com/program/words"
)

func main() {
	fmt.Println(shop.Order, native.Twice(21), words.Count())
	fmt.Println(shop.Run())
	switch os.Args[1] {
	case "exit":
		os.Exit(3)
	case "fatal":
		log.SetFlags(0)
		log.Fatal("fatal")
	case "panic":
		shop.Fail()
	case "wait":
		time.Sleep(time.Minute)
	}
}
