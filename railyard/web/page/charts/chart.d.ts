/** A line of a chart, a value for each time. `dashed` lines are those of the variant beside; `smooth` lines are drawn
 * as means of five neighbours, and exported as they are. */
export interface Line {
  label: string;
  values: number[];
  dashed?: boolean;
  smooth?: boolean;
}

export interface Chart {
  id: string;
  title: string;
  unit: string;
  x: number[];
  lines: Line[];
}
