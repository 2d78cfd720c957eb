/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The devices that the tests run on: one at each end of an Ethernet link
 * between two network namespaces, made for the program and removed at its end.
 * PANE_DEVICES="NAME NAME" in the environment names two that exist instead.
 */
#ifndef PANE_FABRIC_H
#define PANE_FABRIC_H

#include <infiniband/verbs.h>

/* The owner's and the peer's device; set before the tests are listed */
extern struct ibv_device *pane_devices[2];

/* 'A' or 'B': what the devices make of a type 2 window */
extern char pane_mw2_letter;

void pane_fabric_open(void);
void pane_fabric_tidy(void);

/* For a test that takes a device down */
void pane_fabric_second(struct ibv_device *devices[2]);

/*
 * What the names of namespaces, interfaces and devices of the two pairs begin
 * with: owner's are TAGl, peer's TAGr. Empty if they are somebody else's.
 */
extern char pane_first_tag[12];
extern char pane_second_tag[12];

/* Shell commands in which $1 is @arg; 0 or the exit status */
int pane_shell(const char *script, const char *arg);

#endif
