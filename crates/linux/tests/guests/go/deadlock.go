// All goroutines wait for each other: the runtime ends the program.
package main

import (
	"fmt"
	"os"
	"sync"
)

func main() {
	fmt.Println("begins")
	channel := make(chan int)
	go func() { channel <- 1 }()
	fmt.Println(<-channel)
	if len(os.Args) > 1 {
		var group sync.WaitGroup
		group.Add(2)
		for i := 0; i < 2; i++ {
			go func() {
				defer group.Done()
				<-channel
			}()
		}
		group.Wait()
	}
	channel <- 2
}
