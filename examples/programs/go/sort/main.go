// Command sort sorts by several algorithms and keys.
package main

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand"
	"slices"
	"sort"
)

type record struct {
	key  int
	name string
}

type queue []record

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].key < q[j].key }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(value any)    { *q = append(*q, value.(record)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

func main() {
	random := rand.New(rand.NewSource(1))
	records := make([]record, 50_000)
	for i := range records {
		records[i] = record{random.Intn(1000), fmt.Sprintf("n%05d", random.Intn(100_000))}
	}
	stable := slices.Clone(records)
	sort.SliceStable(stable, func(i, j int) bool { return stable[i].key < stable[j].key })
	both := slices.Clone(records)
	slices.SortFunc(both, func(a, b record) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.name, b.name))
	})
	var least queue
	for _, record := range records {
		heap.Push(&least, record)
	}
	ordered := true
	for _, want := range both {
		ordered = ordered && heap.Pop(&least).(record).key == want.key
	}
	position, found := slices.BinarySearchFunc(both, 500, func(r record, key int) int { return cmp.Compare(r.key, key) })
	fmt.Println(stable[0], stable[len(stable)-1], both[0], both[len(both)-1], ordered, position, found)
}
