// Goroutines, channels, timers, the garbage collector, pipes: what Go's runtime does with threads.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"text/template"
	"time"
)

type node struct{ left, right *node }

func tree(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{tree(depth - 1), tree(depth - 1)}
}

func (n *node) count() int {
	if n.left == nil {
		return 1
	}
	return 1 + n.left.count() + n.right.count()
}

func spins(flag *atomic.Bool) int {
	rounds := 0
	for !flag.Load() {
		rounds++
	}
	return rounds
}

func main() {
	results := make(chan int)
	var group sync.WaitGroup
	for i := range 8 {
		group.Add(1)
		go func() {
			defer group.Done()
			results <- i * tree(10).count()
		}()
	}
	go func() { group.Wait(); close(results) }()
	sum := 0
	for result := range results {
		sum += result
	}
	fmt.Println("trees", sum)

	// A loop without a call is preempted by a signal.
	var flag atomic.Bool
	ended := make(chan bool)
	go func() { ended <- spins(&flag) > 0 }()
	runtime.Gosched()
	time.Sleep(2 * time.Millisecond)
	runtime.GC()
	flag.Store(true)
	fmt.Println("spun", <-ended)

	select {
	case <-time.After(3 * time.Millisecond):
		fmt.Println("timer")
	case <-make(chan int):
	}
	if _, open := <-results; !open {
		fmt.Println("closed")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	<-ctx.Done()
	fmt.Println(errors.Is(ctx.Err(), context.DeadlineExceeded))
	ticker := time.NewTicker(time.Millisecond)
	for range 3 {
		<-ticker.C
	}
	ticker.Stop()

	reader, writer, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	go func() {
		for i := range 4 {
			time.Sleep(time.Millisecond)
			fmt.Fprintf(writer, "line %d\n", i)
		}
		writer.Close()
	}()
	text, err := io.ReadAll(reader)
	fmt.Printf("%q %v\n", text, err)

	var mutex sync.RWMutex
	var once sync.Once
	counts := map[string]int{}
	for range 4 {
		group.Add(1)
		go func() {
			defer group.Done()
			once.Do(func() { fmt.Println("once") })
			for n := range 200 {
				mutex.Lock()
				counts[fmt.Sprint("key", n%7)]++
				mutex.Unlock()
				if n%50 == 0 {
					runtime.Gosched()
				}
			}
		}()
	}
	group.Wait()
	encoded, _ := json.Marshal(counts)
	fmt.Println(string(encoded))

	func() {
		defer func() { fmt.Println("recovered", recover()) }()
		var empty []int
		fmt.Println(empty[len(os.Args)+10])
	}()

	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	io.WriteString(zip, strings.Repeat("the same again, ", 1000))
	zip.Close()
	unzip, _ := gzip.NewReader(&zipped)
	plain, _ := io.ReadAll(unzip)
	fmt.Printf("%d %x\n", len(plain), sha256.Sum256(plain))
	words := regexp.MustCompile(`\w+`).FindAllString("some words, in no order", -1)
	sort.Strings(words)
	template.Must(template.New("").Parse("{{range .}}<{{.}}>{{end}}\n")).Execute(os.Stdout, words)
}
