// What Go's own calling convention allows and the psABI does not: many results in registers, no register preserved, stacks that
// move and are switched. It prints by the runtime alone, so that it is compiled quickly.
package main

import (
	"os"
	"runtime"
	"sync/atomic"
	"time"
)

type shape interface {
	measures(scale int) (a, b, c, d, e, f, g, h, i int, x, y, z float64)
}

type square struct{ side int }

func (s *square) measures(scale int) (a, b, c, d, e, f, g, h, i int, x, y, z float64) {
	n := s.side * scale
	return n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8, float64(n) / 2, float64(n) / 4, float64(n) / 8
}

//go:noinline
func added(s shape, scale int) (int, float64) {
	a, b, c, d, e, f, g, h, i, x, y, z := s.measures(scale)
	return a + 3*b + 5*c + 7*d + 11*e + 13*f + 17*g + 19*h + 23*i, x + 3*y + 5*z
}

// Its stack grows, and so is copied to another place.
//
//go:noinline
func deep(depth int, call func(int) (int, int, int)) (int, int, int) {
	var room [64]int
	room[depth%64] = depth
	if depth == 0 {
		return call(1)
	}
	a, b, c := deep(depth-1, call)
	return a + room[depth%64], b + c, c + 1
}

type list struct {
	next  *list
	value int
}

//go:noinline
func sum(l *list) int { return l.value + l.next.value }

func recovered(l *list) (result int, err string) {
	kept := result + 41
	defer func() {
		if r := recover(); r != nil {
			result, err = kept, r.(runtime.Error).Error()
		}
	}()
	return sum(l), ""
}

func main() {
	whole, part := added(&square{7}, 3)
	println("results", whole, int(part*1000))
	base := len(os.Args)
	a, b, c := deep(3000, func(n int) (int, int, int) { return base + n, base, n + 1 })
	println("deep", a, b, c)

	results := make(chan int)
	for i := range 6 {
		go func() {
			rest := make([]*square, 0)
			for n := range 300 {
				rest = append(rest, &square{n})
				if n%100 == 0 {
					runtime.Gosched()
				}
			}
			total := 0
			for n, one := range rest {
				whole, _ := added(one, n+i)
				total += whole
			}
			results <- total
		}()
	}
	total := 0
	for range 6 {
		total += <-results
	}
	println("goroutines", total)

	// A loop without a call is preempted by a signal, with all that is in its registers.
	var flag atomic.Bool
	ended := make(chan int)
	go func() {
		x, y, z := 1, 2, 3
		for !flag.Load() {
			x, y, z = y, z, x
		}
		ended <- x*x + y*y + z*z
	}()
	time.Sleep(2 * time.Millisecond)
	runtime.GC()
	flag.Store(true)
	println("spun", <-ended)

	result, err := recovered(nil)
	println(result, err)
	result, err = recovered(&list{&list{value: 4}, 3})
	println(result, err)
	if base > 1 {
		sum(nil)
	}
}
