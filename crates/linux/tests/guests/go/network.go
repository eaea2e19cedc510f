// network PORT NAME: HTTP by net/http with a server of the host, and as a server for the guest itself and the host.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func get(url string) string {
	client := http.Client{Timeout: 60 * time.Second}
	answer, err := client.Get(url)
	check(err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	check(err)
	return fmt.Sprintf("%s %s", answer.Status, body)
}

func main() {
	// A server of the host, by its name and its address, and by a bare connection.
	host := net.JoinHostPort(os.Args[2], os.Args[1])
	fmt.Println(get("http://" + host + "/by-name"))
	connection, err := net.Dial("tcp", "127.0.0.1:"+os.Args[1])
	check(err)
	fmt.Fprintf(connection, "GET /bare HTTP/1.0\r\n\r\n")
	line, err := bufio.NewReader(connection).ReadString('\n')
	fmt.Println(strings.TrimSpace(line), err)
	connection.Close()

	// Others are refused.
	_, err = net.Dial("tcp", "127.0.0.2:"+os.Args[1])
	fmt.Println(err != nil)
	_, err = net.Listen("tcp", "127.0.0.1:1")
	fmt.Println(err != nil)

	// A deadline of a connection.
	connection, err = net.Dial("tcp", "127.0.0.1:"+os.Args[1])
	check(err)
	connection.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	_, err = connection.Read(make([]byte, 1))
	timeout, ok := err.(net.Error)
	fmt.Println(ok && timeout.Timeout())
	connection.Close()

	// A server.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	var visitors sync.Map
	mux := http.NewServeMux()
	done := make(chan bool)
	mux.HandleFunc("/hello/", func(answer http.ResponseWriter, request *http.Request) {
		visitors.Store(request.URL.Path, true)
		fmt.Fprintf(answer, "hello, %s", strings.TrimPrefix(request.URL.Path, "/hello/"))
	})
	mux.HandleFunc("/end", func(answer http.ResponseWriter, request *http.Request) {
		fmt.Fprint(answer, "bye")
		close(done)
	})
	server := http.Server{Handler: mux}
	go server.Serve(listener)
	fmt.Printf("port %d\n", listener.Addr().(*net.TCPAddr).Port)
	<-done
	check(server.Shutdown(context.Background()))
	count := 0
	visitors.Range(func(any, any) bool { count++; return true })
	fmt.Println(count, "visitors")
}
