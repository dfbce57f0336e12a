import type { NodeRun } from '../../src/preview/protocol';
import { activeStep } from './following';

/** Whether the picture follows a run, and the step that it is at. It follows each new run, until the user moves the picture. */
export class Follower {
  private run: string | null = null;
  private states: ReadonlyMap<string, NodeRun> = new Map();
  private isGoingOn = false;
  private isLeft = false;
  private step: string | undefined;

  /** `changed`: whether the way back is to be offered. */
  constructor(private readonly changed: (offered: boolean) => void) {}

  /** The step of a run that goes on which is looked at; undefined where none is, or the user looks elsewhere. */
  get current(): string | undefined {
    return this.isLeft || !this.isGoingOn ? undefined : this.step;
  }

  /** The states of a run; the step to bring into sight, where it is another one than before. */
  take(run: string | null, states: ReadonlyMap<string, NodeRun>, isOver: boolean, ends: ReadonlySet<string>): string | undefined {
    const wasGoingOn = this.isGoingOn;
    const isGoingOn = !isOver && states.size > 0;
    if (run !== this.run || (isGoingOn && !wasGoingOn)) this.isLeft = false;
    const before = this.step;
    // A run of the journal is not followed: it is shown where the user looks.
    if (isGoingOn || wasGoingOn) this.step = activeStep(states, run === this.run ? this.states : new Map(), this.step, isOver, ends) ?? this.step;
    else if (run !== this.run) this.step = undefined;
    [this.run, this.states, this.isGoingOn] = [run, states, isGoingOn];
    this.tell();
    return this.step === before || this.isLeft ? undefined : this.step;
  }

  /** The user moved the picture. */
  leave(): void {
    this.isLeft = true;
    this.tell();
  }

  /** The user wants to see what the run does; the step that it is at. */
  comeBack(): string | undefined {
    this.isLeft = false;
    this.tell();
    return this.current;
  }

  private tell(): void {
    this.changed(this.isGoingOn && this.isLeft);
  }
}
