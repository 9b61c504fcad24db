package main

import (
	"context"
	"fmt"
	"log"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// The annotations of a pod, which replace a container.
const (
	// "false" keeps the pod running but not ready.
	readyAnnotation = "postern.test/ready"
	// The pod's addresses, the primary one first: "10.244.7.7,fd00:244::7" (default: an address of
	// 10.244.0.0/16).
	addressesAnnotation = "postern.test/addresses"
	// The servers for the pod's ports: "80=127.0.0.1:8081,5432=127.0.0.1:15432". Other ports refuse connections.
	targetsAnnotation = "postern.test/targets"
)

func registerNode(client kubernetes.Interface, name, host string, port int32) error {
	ctx := context.Background()
	nodes := client.CoreV1().Nodes()
	labels := map[string]string{"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
	node, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
	if errors.IsAlreadyExists(err) {
		node, err = nodes.Get(ctx, name, metav1.GetOptions{})
	}
	if err != nil {
		return err
	}
	now := metav1.Now()
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}, {Type: corev1.NodeHostName, Address: name}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = port
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Registered", LastHeartbeatTime: now, LastTransitionTime: now,
	}}
	_, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
	return err
}

// podReporter reports the status of pods like a kubelet whose containers run.
type podReporter struct {
	client    kubernetes.Interface
	addresses atomic.Uint32
}

func (reporter *podReporter) see(object any) {
	pod := object.(*corev1.Pod)
	if err := reporter.report(pod); err != nil && !errors.IsNotFound(err) && !errors.IsConflict(err) {
		log.Printf("pod %s/%s: %v", pod.Namespace, pod.Name, err)
	}
}

func (reporter *podReporter) report(pod *corev1.Pod) error {
	ctx := context.Background()
	pods := reporter.client.CoreV1().Pods(pod.Namespace)
	if pod.DeletionTimestamp != nil {
		atOnce := int64(0)
		return pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &atOnce, Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	}
	ready := corev1.ConditionTrue
	if pod.Annotations[readyAnnotation] == "false" {
		ready = corev1.ConditionFalse
	}
	addresses := addressesOf(pod)
	if isReported(pod, addresses, ready) {
		return nil
	}
	if len(addresses) == 0 {
		number := reporter.addresses.Add(1) + 9
		addresses = []string{fmt.Sprintf("10.244.%d.%d", number>>8&255, number&255)}
	}
	copied := pod.DeepCopy()
	copied.Status = runningStatus(pod, addresses, ready)
	_, err := pods.UpdateStatus(ctx, copied, metav1.UpdateOptions{})
	return err
}

func addressesOf(pod *corev1.Pod) []string {
	if written := pod.Annotations[addressesAnnotation]; written != "" {
		return strings.Split(written, ",")
	}
	var addresses []string
	for _, address := range pod.Status.PodIPs {
		addresses = append(addresses, address.IP)
	}
	return addresses
}

func isReported(pod *corev1.Pod, addresses []string, ready corev1.ConditionStatus) bool {
	if pod.Status.Phase != corev1.PodRunning || len(addresses) == 0 || pod.Status.PodIP != addresses[0] || len(pod.Status.PodIPs) != len(addresses) {
		return false
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == ready
		}
	}
	return false
}

func runningStatus(pod *corev1.Pod, addresses []string, ready corev1.ConditionStatus) corev1.PodStatus {
	now := metav1.Now()
	status := corev1.PodStatus{
		Phase:     corev1.PodRunning,
		PodIP:     addresses[0],
		HostIP:    "127.0.0.1",
		HostIPs:   []corev1.HostIP{{IP: "127.0.0.1"}},
		StartTime: &now,
		QOSClass:  pod.Status.QOSClass,
	}
	for _, address := range addresses {
		status.PodIPs = append(status.PodIPs, corev1.PodIP{IP: address})
	}
	for kind, value := range map[corev1.PodConditionType]corev1.ConditionStatus{
		corev1.PodScheduled: corev1.ConditionTrue, corev1.PodInitialized: corev1.ConditionTrue,
		corev1.ContainersReady: ready, corev1.PodReady: ready,
	} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: kind, Status: value, LastTransitionTime: now})
	}
	started := true
	for _, container := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, ImageID: container.Image, ContainerID: "postern://" + string(pod.UID),
			Ready: ready == corev1.ConditionTrue, Started: &started,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	return status
}
