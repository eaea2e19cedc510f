// Command channels has goroutines pass messages while the garbage collector is kept busy.
package main

import (
	"fmt"
	"runtime"
	"sync"
)

type node struct {
	left, right *node
	value       int
}

func tree(depth, value int) *node {
	if depth == 0 {
		return &node{value: value}
	}
	return &node{tree(depth-1, 2*value), tree(depth-1, 2*value+1), value}
}

func (n *node) sum() int {
	if n == nil {
		return 0
	}
	return n.value + n.left.sum() + n.right.sum()
}

func main() {
	tasks, sums := make(chan int), make(chan int, 4)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for depth := range tasks {
				sums <- tree(depth, 1).sum()
			}
		})
	}
	go func() {
		for task := range 200 {
			tasks <- 4 + task%8
		}
		close(tasks)
		workers.Wait()
		close(sums)
	}()
	total, count := 0, 0
	for sum := range sums {
		total, count = total+sum, count+1
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	fmt.Println(count, "trees,", total, "in all; collected:", stats.NumGC > 0)

	// A ring: a token passes all goroutines many times.
	const members, rounds = 100, 50
	first := make(chan int)
	from := first
	for range members {
		to := make(chan int)
		go func(from, to chan int) {
			for token := range from {
				to <- token + 1
			}
			close(to)
		}(from, to)
		from = to
	}
	token := 0
	for range rounds {
		first <- token
		token = <-from
	}
	close(first)
	_, open := <-from
	fmt.Println("token", token, "open", open)
}
