// Command timers waits for timers, contexts and locks.
package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	begin := time.Now()
	ticker := time.NewTicker(2 * time.Millisecond)
	ticks := 0
	for timeout := time.After(20 * time.Second); ticks < 5; {
		select {
		case <-ticker.C:
			ticks++
		case <-timeout:
			fmt.Println("late")
			ticks = 5
		}
	}
	ticker.Stop()

	ctx, cancel := context.WithTimeoutCause(context.Background(), 5*time.Millisecond, errors.New("too slow"))
	defer cancel()
	<-ctx.Done()
	fmt.Println(ctx.Err(), context.Cause(ctx))

	var lock sync.RWMutex
	var sum, reads atomic.Int64
	values := map[int]int{}
	var all sync.WaitGroup
	for worker := range 10 {
		all.Go(func() {
			for i := range 100 {
				lock.Lock()
				values[worker*100+i] = i
				lock.Unlock()
				lock.RLock()
				reads.Add(int64(min(1, len(values))))
				lock.RUnlock()
			}
			sum.Add(int64(worker))
		})
	}
	all.Wait()
	fmt.Println(len(values), reads.Load(), sum.Load())

	ready, count := sync.NewCond(&sync.Mutex{}), 0
	for range 3 {
		go func() {
			time.Sleep(time.Millisecond)
			ready.L.Lock()
			count++
			ready.L.Unlock()
			ready.Broadcast()
		}()
	}
	ready.L.Lock()
	for count < 3 {
		ready.Wait()
	}
	ready.L.Unlock()
	stopped := time.AfterFunc(time.Hour, func() { panic("an hour has passed") }).Stop()
	fmt.Println(count, stopped, time.Since(begin) > 15*time.Millisecond)
}
