// grpctalk is client and server of a small gRPC service like an OLM catalogue: a unary call, and an open
// stream.
//
//	grpctalk serve PORT                   a server on loopback without TLS that returns each word
//	grpctalk socks5 PROXY HOST:PORT       a client through a SOCKS5 proxy, which resolves the name: prints "unary
//	                                      ok", opens a stream and sends a word every 50 ms ("stream begun"), and
//	                                      closes it when stdin ends ("stream ok, N words")
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/net/proxy"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	unaryMethod  = "/postern.test.Talk/Say"
	streamMethod = "/postern.test.Talk/Converse"
)

var converse = grpc.StreamDesc{StreamName: "Converse", ServerStreams: true, ClientStreams: true}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "grpctalk:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "serve":
		return serve(args[1])
	case len(args) == 3 && args[0] == "socks5":
		return talk(args[1], args[2])
	}
	return errors.New("usage: grpctalk serve PORT | socks5 PROXY HOST:PORT")
}

func serve(port string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	stream := converse
	stream.Handler = func(_ any, stream grpc.ServerStream) error {
		for {
			word := &wrapperspb.StringValue{}
			if err := stream.RecvMsg(word); err != nil {
				if errors.Is(err, io.EOF) {
					return nil
				}
				return err
			}
			if err := stream.SendMsg(word); err != nil {
				return err
			}
		}
	}
	say := func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		word := &wrapperspb.StringValue{}
		return word, decode(word)
	}
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "postern.test.Talk",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Say", Handler: say}},
		Streams:     []grpc.StreamDesc{stream},
	}, struct{}{})
	return server.Serve(listener)
}

func talk(server, target string) error {
	socks, err := proxy.SOCKS5("tcp", server, nil, proxy.Direct)
	if err != nil {
		return err
	}
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		return socks.(proxy.ContextDialer).DialContext(ctx, "tcp", address)
	}
	conn, err := grpc.NewClient(
		"passthrough:///"+target,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(dial),
	)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	answer := &wrapperspb.StringValue{}
	if err := conn.Invoke(ctx, unaryMethod, wrapperspb.String("hello"), answer); err != nil {
		return err
	}
	if answer.Value != "hello" {
		return fmt.Errorf("the answer is %q", answer.Value)
	}
	fmt.Println("unary ok")
	return hold(conn)
}

func hold(conn *grpc.ClientConn) error {
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	stream, err := conn.NewStream(context.Background(), &converse, streamMethod)
	if err != nil {
		return err
	}
	for count := 1; ; count++ {
		word := fmt.Sprint("word ", count)
		if err := stream.SendMsg(wrapperspb.String(word)); err != nil {
			return err
		}
		answer := &wrapperspb.StringValue{}
		if err := stream.RecvMsg(answer); err != nil {
			return err
		}
		if answer.Value != word {
			return fmt.Errorf("said %q, heard %q", word, answer.Value)
		}
		if count == 1 {
			fmt.Println("stream begun")
		}
		select {
		case <-ended:
			return end(stream, count)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func end(stream grpc.ClientStream, count int) error {
	if err := stream.CloseSend(); err != nil {
		return err
	}
	if err := stream.RecvMsg(&wrapperspb.StringValue{}); !errors.Is(err, io.EOF) {
		return fmt.Errorf("the stream did not end: %v", err)
	}
	fmt.Printf("stream ok, %d words\n", count)
	return nil
}
