// A nil pointer's use is a panic, which recover gives back; one in a goroutine, too, and one that is not recovered.
package main

import (
	"fmt"
	"os"
	"runtime"
)

type list struct {
	next  *list
	value int
}

//go:noinline
func sum(l *list) int { return l.value + l.next.value }

func recovered(l *list) (result int, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = r.(runtime.Error)
		}
	}()
	return sum(l), nil
}

func main() {
	for i := 0; i < 100; i++ {
		_, err := recovered(nil)
		if err == nil {
			fmt.Println("no panic")
		}
	}
	fmt.Println(recovered(nil))
	fmt.Println(recovered(&list{value: 3}))
	fmt.Println(recovered(&list{&list{value: 4}, 3}))
	done := make(chan error)
	for i := 0; i < 4; i++ {
		go func() {
			_, err := recovered(nil)
			done <- err
		}()
	}
	for i := 0; i < 4; i++ {
		fmt.Println(<-done)
	}
	var function func()
	func() {
		defer func() { fmt.Println("call:", recover()) }()
		function()
	}()
	if len(os.Args) > 1 {
		sum(nil)
	}
}
