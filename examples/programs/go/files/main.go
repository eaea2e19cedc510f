// Command files makes, walks and reads a tree of files.
package main

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	check(os.MkdirAll("tree/a/b", 0o755))
	for i, name := range []string{"tree/one", "tree/a/two", "tree/a/b/three"} {
		check(os.WriteFile(name, []byte(strings.Repeat(name+"\n", i+1)), 0o640))
	}
	check(os.Symlink("a/two", "tree/link"))
	check(os.Rename("tree/one", "tree/a/1"))
	var packed bytes.Buffer
	archive := tar.NewWriter(&packed)
	check(filepath.WalkDir("tree", func(path string, entry fs.DirEntry, err error) error {
		check(err)
		info, err := entry.Info()
		check(err)
		if !entry.Type().IsRegular() {
			fmt.Println(path, info.Mode())
			return nil
		}
		fmt.Println(path, info.Mode(), info.Size())
		check(archive.WriteHeader(&tar.Header{Name: path, Mode: 0o600, Size: info.Size()}))
		file, err := os.Open(path)
		check(err)
		defer file.Close()
		_, err = io.Copy(archive, file)
		return err
	}))
	check(archive.Close())
	fmt.Println("tar", packed.Len())

	file, err := os.Create("tree.zip")
	check(err)
	zipped := zip.NewWriter(file)
	check(zipped.AddFS(os.DirFS("tree/a/b")))
	check(zipped.Close())
	check(file.Close())
	opened, err := zip.OpenReader("tree.zip")
	check(err)
	for _, entry := range opened.File {
		reader, err := entry.Open()
		check(err)
		lines := 0
		for scanner := bufio.NewScanner(reader); scanner.Scan(); {
			lines++
		}
		fmt.Println(entry.Name, lines)
	}
	opened.Close()
	check(os.RemoveAll("tree"))
	check(os.Remove("tree.zip"))
	_, err = os.Stat("tree")
	fmt.Println(err)
}
