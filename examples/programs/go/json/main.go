// Command json encodes and decodes.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

type point struct {
	X, Y float64
	Name string            `json:"name,omitempty"`
	Tags map[string]string `json:"tags"`
	Next *point            `json:"next"`
}

func main() {
	head := (*point)(nil)
	for i := range 50 {
		name := strings.Repeat("é\"<", i%4)
		head = &point{float64(i) / 7, float64(i * i), name, map[string]string{"b": "2", "a": fmt.Sprint(i)}, head}
	}
	text, err := json.MarshalIndent(head, "", " ")
	if err != nil {
		panic(err)
	}
	var back point
	if err := json.Unmarshal(text, &back); err != nil {
		panic(err)
	}
	again, _ := json.MarshalIndent(&back, "", " ")
	fmt.Println(len(text), string(text) == string(again))

	decoder := json.NewDecoder(strings.NewReader(`{"z": [1, 2.5, null], "y": {"x": "\u00e9"}} [true] {"broken": `))
	encoder := json.NewEncoder(os.Stdout)
	for {
		var value any
		if err := decoder.Decode(&value); err != nil {
			fmt.Println("error:", err)
			break
		}
		encoder.Encode(value)
	}
}
