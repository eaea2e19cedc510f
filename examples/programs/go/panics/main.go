// Command panics recovers from what goes wrong at run time, and ends with a failure.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"strings"
)

type shape interface{ area() float64 }

func attempt(name string, action func()) {
	defer func() {
		value := recover()
		err, _ := value.(error)
		fmt.Printf("%s: %v (%T)\n", name, value, err)
	}()
	action()
}

func main() {
	var values []int
	var missing *struct{ field int }
	var table map[string]int
	var nothing shape
	zero := len(values)
	attempt("index", func() { values[zero+3]++ })
	attempt("nil", func() { missing.field = 1 })
	attempt("map", func() { table["a"] = 1 })
	attempt("divide", func() { zero = 1 / zero })
	attempt("interface", func() { nothing.area() })
	attempt("assertion", func() { _ = any("text").(int) })
	attempt("closed", func() { c := make(chan int); close(c); close(c) })
	attempt("stack", func() {
		depth := 0
		var deeper func() int
		deeper = func() int {
			if depth++; depth == 100_000 {
				return depth
			}
			return deeper() + 1
		}
		fmt.Println("deep", deeper())
	})
	_, err := os.Open("missing")
	var path *fs.PathError
	fmt.Println(errors.Is(err, fs.ErrNotExist), errors.As(err, &path), path.Op)
	fmt.Println(strings.Contains(string(debug.Stack()), "main.main"))
	os.Exit(3)
}
