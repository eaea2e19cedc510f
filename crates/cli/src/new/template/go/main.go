// The guest. Its input comes from the host, its output goes there, and host.go has the host's functions.
package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(os.Stdin); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	for line := range lines {
		fmt.Printf("guest: %q, score %d\n", line, addScore(int64(len(line))))
	}
	announce("hello from Go")
}
