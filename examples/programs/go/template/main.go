// Command template fills templates for text and for HTML.
package main

import (
	"fmt"
	html "html/template"
	"os"
	"strings"
	"text/template"
)

type item struct {
	Name  string
	Price float64
	Parts []item
}

func (i item) Total() (total float64) {
	total = i.Price
	for _, part := range i.Parts {
		total += part.Total()
	}
	return total
}

const text = `{{define "item"}}{{.Name | upper | printf "%-12s"}}{{printf "%8.2f" .Total}}
{{range $n, $part := .Parts}}{{$n}}. {{template "item" $part}}{{else}}  (alone)
{{end}}{{end}}{{with .}}{{template "item" .}}{{end}}{{if and (gt .Price 1.0) (lt (len .Parts) 9)}}done{{end}}
`

func main() {
	root := item{"bicycle", 10, []item{{"wheel", 20.5, []item{{"spoke", 0.25, nil}}}, {"<bell>", 3, nil}}}
	filled := template.Must(template.New("").Funcs(template.FuncMap{"upper": strings.ToUpper}).Parse(text))
	if err := filled.Execute(os.Stdout, root); err != nil {
		panic(err)
	}
	page := html.Must(html.New("").Parse(`<a href="/{{.Name}}" onclick="f({{.}})">{{.Name}}</a>` + "\n"))
	if err := page.Execute(os.Stdout, root.Parts[1]); err != nil {
		panic(err)
	}
	_, err := template.New("broken").Parse("{{if}}")
	fmt.Println("error:", err)
}
