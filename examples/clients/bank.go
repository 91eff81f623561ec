// A client of `tutti serve` in Go, by redigo: `bank PORT`, with the procedures of docs/server.md.
//
// The settings:
//
//	timeouts   redigo has no default timeouts: set one for the connection, one for writing, and one for a reply, longer
//	           than the longest call
//	pool       a connection belongs to one goroutine at a time; MaxActive and Wait keep a burst from opening more
//	           connections than the server accepts
//	retry      redigo never sends a command again, and a failed connection cannot be used again: the pool discards it.
//	           Send the call again with the same ID: it runs once, whatever happens to the connection.
package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

func connect(port string) *redis.Pool {
	return &redis.Pool{
		MaxIdle:     4,
		MaxActive:   16,
		Wait:        true,
		IdleTimeout: time.Minute,
		Dial: func() (redis.Conn, error) {
			return redis.Dial("tcp", "127.0.0.1:"+port,
				redis.DialConnectTimeout(2*time.Second),
				redis.DialWriteTimeout(5*time.Second),
				redis.DialReadTimeout(10*time.Second))
		},
	}
}

func ask(bank *redis.Pool, words ...interface{}) (interface{}, error) {
	c := bank.Get()
	defer c.Close()
	return c.Do("CALL", words...)
}

// isAnswer returns true for a reply, which may be an error of the server. After an error of the connection, the client
// cannot know what has happened.
func isAnswer(err error) bool {
	var refused redis.Error
	return err == nil || errors.As(err, &refused)
}

// callOnce runs the call exactly once, even if a reply is lost.
func callOnce(bank *redis.Pool, name string, arguments ...interface{}) (interface{}, error) {
	const attempts = 5
	key := make([]byte, 16) // all clients of a server share its keys
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	words := append([]interface{}{"ID", hex.EncodeToString(key), name}, arguments...)
	for attempt := 1; ; attempt++ {
		answer, err := ask(bank, words...)
		if isAnswer(err) || attempt == attempts {
			return answer, err
		}
	}
}

// together runs all calls in one transaction, or none.
func together(bank *redis.Pool, calls ...[]interface{}) ([]string, error) {
	c := bank.Get()
	defer c.Close()
	if err := c.Send("MULTI"); err != nil {
		return nil, err
	}
	for _, call := range calls {
		if err := c.Send("CALL", call...); err != nil {
			return nil, err
		}
	}
	return redis.Strings(c.Do("EXEC"))
}

func run(port string) error {
	bank := connect(port)
	defer bank.Close()
	moved, err := callOnce(bank, "transfer", 1, 2, 30)
	if err != nil {
		return err
	}
	fmt.Println("moved:", moved)
	left, err := redis.Int64(ask(bank, "balance", 1))
	if err != nil {
		return err
	}
	fmt.Println("left:", left)
	both, err := together(bank, []interface{}{"transfer", 2, 3, 10}, []interface{}{"transfer", 3, 1, 10})
	if err != nil {
		return err
	}
	fmt.Println("both:", strings.Join(both, " "))
	_, err = together(bank, []interface{}{"transfer", 1, 2, 10}, []interface{}{"transfer", 2, 1, 1000000})
	var refused redis.Error
	if err == nil {
		return errors.New("more was moved than there is")
	}
	if !errors.As(err, &refused) {
		return err
	}
	fmt.Println("neither:", strings.Fields(refused.Error())[0])
	left, err = redis.Int64(ask(bank, "balance", 1))
	if err != nil {
		return err
	}
	fmt.Println("left:", left)
	return nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "bank: give the port of the server")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "bank:", err)
		os.Exit(1)
	}
}
