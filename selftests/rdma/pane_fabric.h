/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The devices that the tests run on: one at each end of an Ethernet link
 * between two network namespaces, made for the program and removed at its end.
 * PANE_DEVICES="NAME NAME" in the environment names two that exist instead.
 */
#ifndef PANE_FABRIC_H
#define PANE_FABRIC_H

#include <infiniband/verbs.h>
#include <stdbool.h>

/* The owner's and the peer's device; set before the tests are listed */
extern struct ibv_device *pane_devices[2];

/* 'A' or 'B': what the devices make of a type 2 window at the moment */
extern char pane_mw2_letter;
/* It can be changed */
extern bool pane_mw2_choice;

int pane_mw2_write(const struct ibv_device *dev, const char *type);
void pane_mw2_set(char letter);

void pane_fabric_open(void);
void pane_fabric_tidy(void);

/* For a test that takes a device down */
void pane_fabric_second(struct ibv_device *devices[2]);

/*
 * What the names of its namespaces, interfaces and devices begin with: the
 * owner's are TAGl, the peer's TAGr
 */
extern char pane_second_tag[12];

/* Shell commands in which $1 is @arg; 0 or the exit status */
int pane_shell(const char *script, const char *arg);

#endif
